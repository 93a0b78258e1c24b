#!/bin/sh
# Makes the certificates beside it: for tests on loopback only, trusted by nobody. Needs openssl >= 3.
# good: 127.0.0.1 and localhost · wronghost: another name · expired: ended in 2021 · selfsigned: its own authority
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: > "$work/index"
echo 1000 > "$work/serial"
cat > "$work/ca.cnf" <<CNF
[ca]
default_ca = test
[test]
database = $work/index
serial = $work/serial
new_certs_dir = $work
default_md = sha256
policy = any
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
CNF
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }
leaf() { # name, subjectAltName, start, end
    key "$work/$1.key"
    openssl req -new -config "$work/ca.cnf" -key "$work/$1.key" -subj "/CN=agent-tui test $1" -out "$work/$1.csr"
    printf 'basicConstraints=CA:FALSE\nsubjectAltName=%s\nextendedKeyUsage=serverAuth\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n' "$2" > "$work/$1.ext"
    openssl ca -batch -notext -config "$work/ca.cnf" -cert "$work/ca.pem" -keyfile "$work/ca.key" \
        -startdate "$3" -enddate "$4" -extfile "$work/$1.ext" -in "$work/$1.csr" -out "$work/$1.crt"
    cat "$work/$1.key" "$work/$1.crt" > "$1.pem"
}
own() { # name, extensions: a certificate signed with its own key
    key "$work/$1.key"
    openssl req -new -config "$work/ca.cnf" -key "$work/$1.key" -subj "/CN=agent-tui test $1" -out "$work/$1.csr"
    printf "$2" > "$work/$1.ext"
    openssl ca -batch -notext -selfsign -config "$work/ca.cnf" -keyfile "$work/$1.key" \
        -startdate 20200101000000Z -enddate 21200101000000Z -extfile "$work/$1.ext" -in "$work/$1.csr" -out "$work/$1.pem"
}
own ca 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash\n'
cp "$work/ca.pem" ca.pem
leaf good IP:127.0.0.1,DNS:localhost 20200101000000Z 21200101000000Z
leaf wronghost DNS:elsewhere.test 20200101000000Z 21200101000000Z
leaf expired IP:127.0.0.1 20200101000000Z 20210101000000Z
own selfsigned 'subjectAltName=IP:127.0.0.1\nsubjectKeyIdentifier=hash\n'
cat "$work/selfsigned.key" "$work/selfsigned.pem" > selfsigned.pem

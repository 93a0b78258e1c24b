"""Where voice comes from: ``[voice]`` and ``[voice.agent]`` of the config file, and LiveKit's own variables.

The command line wins over the variables, and these over the file. ``AGENT_TUI_URL`` and ``AGENT_TUI_TOKEN``
name a backend of ours and never LiveKit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from agent_tui.config.table import Table
from agent_tui.model.errors import ConfigError

URL_VARIABLE = "LIVEKIT_URL"
KEY_VARIABLE = "LIVEKIT_API_KEY"
SECRET_VARIABLE = "LIVEKIT_API_SECRET"  # noqa: S105 - a name
TOKEN_VARIABLE = "LIVEKIT_TOKEN"  # noqa: S105 - a name
TASKS_VARIABLE = "AGENT_SERVICE_AUTHORIZATION"  # the whole header of llm = "tasks:…", if that requires one
TURN_DETECTION = ("vad", "stt", "realtime", "manual", "detector")
END_OF_TURN_SECONDS = (0.2, 10.0)  # least and most
DEFAULT_ROOM = "demo"
MAX_ROOM_CHARACTERS = 100

# What has variables that do not begin with its name: LiveKit's plugins, and an agent service.
_VARIABLES_OF_PLUGINS: Mapping[str, tuple[str, ...]] = {
    "elevenlabs": ("ELEVEN_",),
    "google": ("GOOGLE_", "GEMINI_"),
    "aws": ("AWS_",),
    "fal": ("FAL_",),
    "xai": ("XAI_",),
    "tasks": (TASKS_VARIABLE,),
}
_PLUGIN = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class VoiceAgentConfig:
    """The ``[voice.agent]`` table. ``name`` is the name of an agent to dispatch on a LiveKit server; the rest
    is about our own agent: ``stt``, ``llm``, ``tts`` as "plugin:model" ("" is what works offline, or a
    conversation of ours for ``llm``); ``hearing`` and ``voice`` name offline models; ``end_of_turn`` is the
    silence in seconds that ends a turn; ``pass_env`` names variables that it gets besides those of the
    plugins.
    """

    name: str = ""
    stt: str = ""
    llm: str = ""
    tts: str = ""
    hearing: str = ""
    voice: str = ""
    turn_detection: str = ""
    end_of_turn: float | None = None
    pass_env: tuple[str, ...] = ()

    def passes(self, variable: str) -> bool:
        """Return whether the agent's process gets this environment variable because of what it uses."""
        plugins = {value.partition(":")[0] for value in (self.stt, self.llm, self.tts) if ":" in value}
        prefixes = [p for name in plugins for p in _VARIABLES_OF_PLUGINS.get(name, (f"{name.upper()}_",))]
        return variable in self.pass_env or variable.startswith(tuple(prefixes))


@dataclass(frozen=True, slots=True)
class VoiceConfig:
    """The ``[voice]`` table. ``key_env`` and ``secret_env`` name the variables with the key and secret that
    sign tokens; ``token_url`` is an endpoint in LiveKit's standard form; ``input`` and ``output`` are names
    of devices; ``locale`` is the spoken language, as "en" or "zh-CN", "" for the terminal's.
    """

    url: str = field(default="", repr=False)  # may contain a login
    key: str = field(default="", repr=False)
    key_env: str = ""
    secret: str = field(default="", repr=False)
    secret_env: str = ""
    token_url: str = field(default="", repr=False)
    room: str = ""
    input: str = ""
    output: str = ""
    locale: str = ""
    agent: VoiceAgentConfig = field(default_factory=VoiceAgentConfig)


@dataclass(frozen=True, slots=True)
class LiveKit:
    """A configured LiveKit server, with one way to get a token for it: ``token`` itself, ``key`` and
    ``secret`` that sign one, or ``token_url``, whose answer also names the server if ``url`` is empty.
    """

    url: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    token_url: str = field(default="", repr=False)


def named_livekit(
    voice: VoiceConfig, *, url: str = "", token: str = "", environ: Mapping[str, str] | None = None
) -> LiveKit | None:
    """Return the LiveKit server of the command line (``url``, ``token``), the variables or the config file;
    ``None`` if none is named: then our own backend is used.

    Raises ``ConfigError`` if its address is wrong, or its address or keys are missing.
    """
    variables = os.environ if environ is None else environ
    found_url, source = next(
        (pair for pair in ((url, "--url"), (variables.get(URL_VARIABLE, ""), URL_VARIABLE)) if pair[0]),
        (voice.url, "[voice] url"),
    )
    if found_url:
        check_address(found_url, ("ws", "wss", "http", "https"), source)
    if given_token := token or variables.get(TOKEN_VARIABLE, ""):
        if not found_url:
            raise ConfigError(
                "A LiveKit token needs the server's address", f"give --url, {URL_VARIABLE} or [voice] url"
            )
        return LiveKit(found_url, token=given_token)
    variable_keys = (variables.get(KEY_VARIABLE, ""), variables.get(SECRET_VARIABLE, ""))
    file_keys = (
        variables.get(voice.key_env, "") or voice.key,
        variables.get(voice.secret_env, "") or voice.secret,
    )
    if found_url and all(variable_keys):
        return LiveKit(found_url, key=variable_keys[0], secret=variable_keys[1])
    if voice.token_url and source == "[voice] url":
        return LiveKit(found_url, token_url=voice.token_url)
    if not found_url:
        return None
    if all(file_keys):
        return LiveKit(found_url, key=file_keys[0], secret=file_keys[1])
    raise ConfigError(
        f"{source}: the LiveKit server needs a token",
        f"set {KEY_VARIABLE} and {SECRET_VARIABLE}, [voice] key_env and secret_env, or give --token",
    )


def check_address(url: str, schemes: tuple[str, ...], where: str) -> None:
    """Raise ``ConfigError`` if ``url``, which ``where`` names, does not begin with one of ``schemes``."""
    if not url.startswith(tuple(f"{scheme}://" for scheme in schemes)):
        raise ConfigError(where, f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")


def read_voice(table: Table) -> VoiceConfig:
    """Return the ``[voice]`` table; raises ``ConfigError`` for errors in it."""
    table.warn_of_unknown([field.name for field in fields(VoiceConfig)])
    values = table.values_for(VoiceConfig)
    for key, schemes in (("url", ("ws", "wss", "http", "https")), ("token_url", ("http", "https"))):
        try:
            if key in values:
                check_address(values[key], schemes, key)
        except ConfigError as error:
            raise table.fail(key, error.detail) from None
    for key in ("key_env", "secret_env"):
        table.check_variables(key, [values[key]] if key in values else [])
    if len(values.get("room", "")) > MAX_ROOM_CHARACTERS:
        raise table.fail("room", f"may have {MAX_ROOM_CHARACTERS} characters")
    agent = table.values.get("agent", {})
    if not isinstance(agent, Mapping):
        raise table.fail("agent", "must be a table: [voice.agent]")
    return VoiceConfig(**values, agent=_read_agent(table.inner("agent", agent)))


def _read_agent(table: Table) -> VoiceAgentConfig:
    table.warn_of_unknown([field.name for field in fields(VoiceAgentConfig)])
    end_of_turn = table.values.get("end_of_turn")
    least, most = END_OF_TURN_SECONDS
    is_number = isinstance(end_of_turn, int | float) and not isinstance(end_of_turn, bool)
    if end_of_turn is not None and not (is_number and least <= end_of_turn <= most):
        raise table.fail("end_of_turn", f"must be {least:g} to {most:g} seconds")
    agent = VoiceAgentConfig(end_of_turn=end_of_turn, **table.values_for(VoiceAgentConfig))
    for key in ("stt", "llm", "tts"):
        plugin, colon, _ = getattr(agent, key).partition(":")
        if colon and not _PLUGIN.fullmatch(plugin):
            raise table.fail(key, 'must look like "deepgram:nova-3"')
    if agent.turn_detection not in ("", *TURN_DETECTION):
        raise table.fail("turn_detection", f"must be one of {', '.join(TURN_DETECTION)}")
    table.check_variables("pass_env", agent.pass_env)
    return agent

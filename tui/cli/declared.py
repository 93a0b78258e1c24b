"""Every command, described once: its arguments and options, what it does, what runs it.

The parser (``tui.cli.tree``), the help pages and the table of commands (``tui.cli.pages``), and shell
completion are all made from this. Plain data, because ``--help`` and the first frame wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

STRICT_VARIABLE: Final = "AGENT_TUI_STRICT"  # for scripts: adds --strict to every command
ROOT: Final = ""
ROOMS: Final = ("rooms",)  # the protocols that a server may speak
CHATS: Final = ("chat",)


class Option(NamedTuple):
    """An option. ``wants`` names its value, "" for a flag; lower-case words with bars between them are all
    possible values, unless ``choices`` are. ``text`` is for the help page: its line breaks are kept.

    It is passed as ``field``, by default its name. ``setting``: type and limits are those of the setting of a
    room that has this option; "path" is a type, too.
    """

    name: str
    wants: str = ""
    text: str = ""
    type: Any = str
    default: Any = None
    short: str = ""
    many: bool = False
    choices: Sequence[str] = ()
    least: int | None = None
    completes: str = ""  # the kind of completion in ``tui.cli.completion``
    variable: str = ""  # an environment variable with the same meaning
    field: str = ""
    setting: bool = False

    @property
    def called(self) -> str:
        """The parameter of the function that runs the command."""
        return self.field or self.name.removeprefix("--").replace("-", "_")

    @property
    def offered(self) -> Sequence[str]:
        """All possible values; empty if any value is possible."""
        return self.choices or (self.wants.split("|") if "|" in self.wants and self.wants.islower() else ())

    @property
    def shown(self) -> str:
        """The option as in a usage line."""
        return f"[{self.name}{self.wants and ' ' + self.wants}]{'…' if self.many else ''}"


class Argument(NamedTuple):
    """An argument; ``empty`` is the error for an empty one, which refers to a page ``see``."""

    name: str
    optional: bool = False
    many: bool = False
    text: str = ""
    completes: str = ""
    field: str = "wanted"
    empty: str = ""
    see: str = ""

    @property
    def shown(self) -> str:
        """The argument as in a usage line."""
        name = f"{self.name}…" if self.many and self.name != "TITLE" else self.name
        return f"[{name}]" if self.optional else name


class Command(NamedTuple):
    """A command, or a group of them, which ``runs`` "module:function".

    The function gets the server of one of these ``kinds`` as ``source``, nothing if the command is ``local``
    (about this machine), else the ``connection``, and what was given. It returns an exit code, or ``None``
    when it is done. On the help page: ``usage`` if it is not made from arguments and options, ``about`` and
    ``after`` above and below the options; a paragraph that begins with a blank is not wrapped. ``brief`` is
    for the group's page and for shells.
    """

    path: str
    brief: str
    about: str
    runs: str = ""
    arguments: Sequence[Argument] = ()
    options: Sequence[Option] = ()
    kinds: Sequence[str] | None = None
    local: str = ""
    usage: Sequence[str] = ()
    after: str = ""
    has_server: bool = True  # it can be used with another server
    own_parser: bool = False  # the program that it starts reads what follows
    needs_config: bool = False  # models or tools of the config file: the backend must have the same file

    @property
    def group(self) -> str:
        """The path of its group."""
        return self.path.rpartition(" ")[0]

    @property
    def takes_server(self) -> bool:
        """Whether the options that name a server mean something to it."""
        return not (self.local or self.own_parser) and (self.has_server or bool(self.runs))


# --- what many have ----------------------------------------------------------------------------------------

_RUN_FORMATS: Final = ("text", "json", "stream-json")
_ROOM_TEXT: Final = "ROOM is a room's id, its name, or the beginning of either that fits no other room."
_CHAT_TEXT: Final = (
    "CONVERSATION is a chat's id, its title, or the beginning of either that fits no other chat."
)
_RULE_TEXT: Final = "RULE is the rule's id, the beginning of it that fits no other rule, or its pattern."

ROOM: Final = Argument("ROOM", text=_ROOM_TEXT, completes="rooms")
CONVERSATION: Final = Argument("CONVERSATION", text=_CHAT_TEXT, completes="conversations")
RULE: Final = Argument("RULE", text=_RULE_TEXT)
OUTPUT: Final = Option("--output", "text|json", default="text", field="output_format")
YES: Final = Option("--yes", "", "do not ask", short="-y")
_OUT: Final = "write here instead of stdout; without --format an ending like .html names the format"
OUT: Final = Option("--out", "FILE", _OUT, type="path")
PLAIN: Final = Option("--plain", "", "lines instead of a screen, for screen readers, logs and dumb terminals")
STRICT: Final = Option("--strict", variable=STRICT_VARIABLE)
_NO_DEMO: Final = "without being named (or set AGENT_TUI_STRICT=1)"

# A table: related lines stay together.
# fmt: off

# The options of a new room; the types and limits of settings are in records.py.
NEW_ROOM: Final = (
    Option("--from", "FILE", "a room file; the options below override it", type="path", field="from_file"),
    Option("--task", "TEXT", "what the room is about", setting=True),
    Option("--name", "TEXT", "its name (default: the beginning of the task)", setting=True),
    Option("--agent", "NAME[=MODEL]", "an agent; can be repeated (default: three with different "
        "roles)", many=True, field="agents"),
    Option("--template", "ID", "an agent from a template; can be repeated (agent-tui rooms "
        "templates lists them)", many=True, completes="templates", field="templates"),
    Option("--provider", "NAME", "the provider of agents that name none (default: the first in the "
        "config file; demo is the demo model)", completes="providers"),
    Option("--rounds", "N", "number of rounds (default: 3)", setting=True),
    Option("--mode", "MODE", "sequential or parallel (default: sequential)", setting=True),
    Option("--max-tokens", "N", "pause the room once it has used this many tokens (default: 0, no limit)",
        setting=True),
    Option("--max-cost", "X", "the same in US dollars, where prices are known", setting=True),
    Option("--on-error", "WORD", "what the room does when a turn fails: continue (default) or "
        "pause", setting=True),
    Option("--on-resume", "WORD", "what to do on resume with a turn that was cut: continue "
        "(default) or again, which retries it", setting=True),
    Option("--tool", "NAME", "a tool the agents may use; can be repeated (default: none; "
        "agent-tui tools list names them)", many=True, setting=True),
    Option("--workspace", "DIR", "the tools' working folder", setting=True),
    Option("--guide", "WORD", "whether models are given that folder's AGENTS.md: tell (default) "
        "or ignore", setting=True),
    Option("--synthesis", "", "let the last to speak sum up: decision, reasons, what stays open",
        setting=True),
    Option("--keep-running", "", "keep the room running when nobody watches it", setting=True),
    STRICT._replace(text=f"exit with code 2 if the demo model would speak {_NO_DEMO}"),
)

_ROOMS: Final = "tui.cli.commands.rooms"
_CHATS: Final = "tui.cli.commands.conversations"
_TOOLS: Final = "tui.cli.commands.tools"
_CONFIG: Final = "tui.cli.commands.config"
_CALLS: Final = "tui.cli.calls"
_MACHINE: Final = "the config file is on this machine"
ROOM_COMMANDS: Final = (
    Command(
        "rooms", "open the rooms, or one room; without any, a demo room",
        "Opens the list of rooms, or one room. If there are no rooms yet, a demo room is made and started.",
        f"{_CALLS}:open_rooms", usage=("[ROOM]", "COMMAND"),
        arguments=(ROOM._replace(optional=True, see="rooms"),), options=(PLAIN,),
        after="With --plain, type a line to say it to the room. /pause, /resume, /quit and /help are "
        "commands; approvals are answered with y, c, a or n.\n"
        "\n"
        "To open a room whose name is a command: agent-tui rooms -- NAME",
    ),
    Command(
        "rooms list", "list the rooms",
        "Lists the rooms. As json: the body of GET /api/rooms, as the server returned it.",
        f"{_ROOMS}:list_rooms", options=(OUTPUT,), kinds=ROOMS,
    ),
    Command(
        "rooms new", "make a room",
        "Makes a room and prints its id. It does not start: agent-tui rooms run ID does that, or p on a "
        "screen.", f"{_CALLS}:new_room",
        options=(*NEW_ROOM, OUTPUT._replace(text="the id, or the room as the server returned it")),
        usage=("--task TEXT [OPTIONS]", "--from FILE [OPTIONS]"),
    ),
    Command(
        "rooms show", "show one room",
        "Shows one room. As json: the body of GET /api/rooms/ID, as the server returned it.",
        f"{_ROOMS}:show_room", (ROOM,), (OUTPUT,), ROOMS,
    ),
    Command(
        "rooms delete", "delete a room and all its messages",
        "Deletes a room and all its messages. Asks first.", f"{_ROOMS}:delete_room", (ROOM,),
        (YES, OUTPUT), ROOMS,
    ),
    Command(
        "rooms pause", "pause a room; unfinished text is kept",
        "Pauses a room. Unfinished text is kept; the turn continues on resume.",
        f"{_ROOMS}:pause_room", (ROOM,), (OUTPUT,), ROOMS,
    ),
    Command(
        "rooms resume", "resume a room at the turn that was cut",
        "Resumes a paused room at the turn that was cut. On your own backend a room that nobody watches "
        "pauses after 30 s, unless it was made with --keep-running.",
        f"{_ROOMS}:resume_room", (ROOM,), (OUTPUT,), ROOMS, needs_config=True,
    ),
    Command(
        "rooms run", "run or resume a room to its end, without a screen",
        "Runs or resumes a room to its end without a screen; without ROOM it makes one first, also from a "
        "room file. Ctrl-C pauses the room and exits; a second Ctrl-C exits at once.",
        f"{_CALLS}:run_room", (ROOM._replace(optional=True, field="room"),),
        (
            *NEW_ROOM,
            Option("--output", "FORMAT",
                "text (default): what the agents say, as they say it\n"
                "json: one object at the end, with the room and its messages\n"
                'stream-json: one object per line and event, and a last one named "end"', default="text",
                choices=_RUN_FORMATS, field="output_format"),
        ),
        usage=("ROOM [OPTIONS]", "FILE.toml [OPTIONS]", "--task TEXT [OPTIONS]"),
        after="--max-tokens, --max-cost, --on-error, --on-resume, --tool, --workspace, --guide, "
        "--synthesis and --keep-running also change an existing room. A tool that needs approval runs only "
        "if a rule of the room or the config file allows it. Only the answer goes to stdout; progress and "
        "one line per failed turn go to stderr.",
    ),
    Command(
        "rooms export", "export a room and its messages",
        "Writes a room and all its messages, in order, to stdout or to a file.",
        "tui.cli.export.document:export_room", (ROOM,),
        (
            Option("--format", "md|json|html|toml",
                "md (default): Markdown, as the agents wrote it\n"
                "html: one self-contained page\n"
                "json: the room and its messages, as the server returned them\n"
                "toml: the room alone, as a room file for new and run", field="form"),
            OUT,
        ),
        ROOMS,
    ),
    Command(
        "rooms templates", "list the agents a room can be made of",
        """\
Lists the agent templates for new and run. Your own are files in agents/ beside the config file, one agent \
each; one with the name of a built-in template replaces it:

  color = "#4c9be8"             optional, as are model and provider
  [en]                          also [zh] and [ru]
  name = "Historian"
  summary = "knows how it came to be"
  prompt = "You are the historian in a discussion. …\"""",
        "tui.cli.commands.templates:templates",
        options=(
            Option("--keep", "ID", "copy a built-in one there for editing, and print its path",
                completes="templates"),
            OUTPUT,
        ),
        local="the templates are on this machine",
    ),
)

CHAT_COMMANDS: Final = (
    Command(
        "chat", "open a chat",
        "Opens a chat: the newest one, or a new one if there are none.", f"{_CALLS}:chat",
        (CONVERSATION._replace(optional=True, field="conversation", see="chat"),),
        (
            Option("--new", "", "start a new chat; its working folder is the current folder"),
            PLAIN,
        ),
        after="With --backend NAME of kind tasks CONVERSATION is the id of a session (default: a new one), "
        "of kind socket that of a chat (default: 0).\n"
        "\n"
        "On the screen, ? lists the keys; / in the input line lists the commands.\n"
        "\n"
        "With --plain, type a line to ask it. /stop, /quit and /help are commands; approvals are answered "
        "with y, c, a or n.",
    ),
    Command(
        "ask", "ask one question, without a screen",
        "Asks one question and prints the answer as it arrives. Piped input is the question; with TEXT "
        'it is attached as "stdin" (also if TEXT contains a "-"). Ctrl-C stops the answer and exits; '
        "a second Ctrl-C exits at once.", f"{_CALLS}:ask",
        (Argument("TEXT", optional=True, many=True, field="text"),),
        (
            Option("--file", "FILE", "attach a text or an image; can be repeated", type="path", short="-f",
                many=True, field="files"),
            Option("--conversation", "ID", "continue this chat: its id, its title, or the "
                "beginning of either; of a backend of kind tasks the id of a session (default: a new one, "
                "whose id is on stderr)", completes="conversations"),
            Option("--model", "MODEL", "the model that answers"),
            Option("--provider", "ID", "its provider (agent-tui models lists them)", completes="providers"),
            Option("--workspace", "DIR", "the tools' working folder (default: on your own backend the "
                "current folder); these three options also change an existing chat", type="path"),
            Option("--tools", "NAMES", "the tools it may use, separated by commas, or none "
                "(default: the chat's tools)"),
            Option("--allow", "PATTERN", "allow calls that would need approval, such as "
                "'run_command(make test)' or write_file; can be repeated. All others are denied", many=True),
            Option("--thinking", "", "turn the model's thinking on"),
            STRICT._replace(text=f"exit with code 2 if the demo model would answer {_NO_DEMO}"),
            Option("--chat-id", "N", "the chat of a backend of kind socket (default: 0)", type=int),
            Option("--output", "FORMAT",
                "text (default): the answer alone\n"
                "json: one object at the end, with the chat and its messages\n"
                'stream-json: one object per line and event, and a last one named "end"', default="text",
                choices=_RUN_FORMATS, field="output_format"),
        ),
        usage=("TEXT… [-f FILE]… [OPTIONS]", "COMMAND | agent-tui ask [TEXT…] [OPTIONS]"),
        after="Only the answer goes to stdout; one line per tool call goes to stderr.",
    ),
    Command(
        "conversations", "list, search, show, export, rename and delete chats",
        "Lists, searches, shows, exports, renames and deletes chats.",
        arguments=(CONVERSATION,), usage=("COMMAND",),
    ),
    Command(
        "conversations list", "list the chats, newest first",
        "Lists the chats, newest activity first. As json: the body of GET /api/conversations, as the "
        "server returned it.", f"{_CHATS}:list_conversations",
        options=(Option("--archived", "", "include archived chats"), OUTPUT), kinds=CHATS,
    ),
    Command(
        "conversations search", "search the messages of all chats and rooms",
        "Searches the messages of all chats and rooms for all of these words, or words that begin "
        "with them, newest first. As json: the body of GET /api/search, as the server returned it; in a "
        "snippet each match stands between U+0002 and U+0003.", f"{_CHATS}:search",
        (Argument("WORDS", many=True, empty="nothing to search for", see="conversations search"),),
        (Option("--limit", "N", "show at most N (default: 20)", type=int, default=20, least=1), OUTPUT),
        CHATS,
    ),
    Command(
        "conversations show", "show a chat's settings and usage",
        "Shows one chat: its model, its tools, its working folder, its usage. As json: the "
        "body of GET /api/conversations/ID, as the server returned it.", f"{_CHATS}:show", (CONVERSATION,),
        (OUTPUT,), CHATS,
    ),
    Command(
        "conversations export", "export a chat",
        "Writes a chat with its thoughts and tool calls, in order, to stdout or to a file. Of questions and "
        "answers with several versions the current one is written; [ and ] in agent-tui chat CONVERSATION "
        "choose another.", "tui.cli.export.conversations:export_conversation", (CONVERSATION,),
        (
            Option("--format", "md|json|html|srt",
                "md (default): Markdown, as the model wrote it\n"
                "html: one self-contained page; thoughts and tools are folded\n"
                "json: the chat and its messages, as the server returned them\n"
                "srt: a voice session as subtitles: who said what, when", field="form"),
            OUT,
        ),
        CHATS,
    ),
    Command(
        "conversations delete", "delete a chat and all its messages",
        "Deletes a chat and all its messages. Asks first.", f"{_CHATS}:delete",
        (CONVERSATION,), (YES, OUTPUT), CHATS,
    ),
    Command(
        "conversations rename", "rename a chat", "Renames a chat.",
        f"{_CHATS}:rename",
        (CONVERSATION, Argument("TITLE", many=True, field="title", see="conversations rename")), (OUTPUT,),
        CHATS,
    ),
    Command(
        "tools", "the tools agents may use, and what runs without approval",
        "The tools agents may use, and what runs without approval.", usage=("COMMAND",),
        after="A rule saved on the screen allows exactly the call that was shown, a command only in the "
        "folder it was shown in. Wider rules go in the config file: [tools] allow = "
        '["fetch_url(https://docs.python.org/*)"]',
    ),
    Command(
        "tools list", "list the tools",
        "Lists the tools, including those of MCP servers in the config file, and whether they need "
        "approval. As json: also their parameters.", f"{_TOOLS}:list_tools", options=(OUTPUT,),
        kinds=CHATS, needs_config=True,
    ),
    Command(
        "tools rules", "list what was allowed, and where",
        "Lists what was always allowed, or allowed in one chat, without what the config file allows.",
        f"{_TOOLS}:list_rules", options=(OUTPUT,), kinds=CHATS,
    ),
    Command(
        "tools forget", "delete a rule, so that approval is needed again",
        "Deletes a rule, so that approval is needed again.",
        f"{_TOOLS}:forget_rule", (RULE,), (OUTPUT,), CHATS,
    ),
)

VOICE_COMMANDS: Final = (
    Command(
        "voice", "talk with an agent in a voice room",
        "Talks with an agent in a voice room. What is missing is started on this machine: a LiveKit server "
        "and the agent. Without a screen, --wav plays a file, or --text with --output takes lines from "
        "stdin, and what both sides say goes to stdout.", "tui.voice.commands:voice",
        options=(
            Option("--room", "ROOM", "the room (default: room of [voice], else demo)"),
            Option("--agent", "NAME|FILE.py",
                "NAME: the agent to call on the LiveKit server\n"
                "FILE.py: your own LiveKit agent, run without a server", default=""),
            Option("--text", "", "type instead of talking; no sound"),
            Option("--muted", "", "start with the microphone muted"),
            Option("--headphones", "", "you wear headphones: no echo to cancel"),
            Option("--no-aec", "", "never cancel the echo of the speaker"),
            Option("--input", "NAME", "the microphone (agent-tui voice devices lists them)",
                default="", field="input_name"),
            Option("--output-device", "NAME", "the speaker", default="", field="output_name"),
            Option("--wav", "FILE", "play this WAV file to the agent, wait for the answer, and exit; "
                "- is stdin",
                type="path"),
            Option("--record", "FILE", "record the agent's voice to a WAV file", type="path"),
            Option("--transcript", "FILE", "write what both sides said to a text file at the end",
                type="path"),
            Option("--output", "FORMAT",
                "text (default): both sides' lines as they are final\n"
                "json: one object at the end\n"
                "stream-json: one object per line and event (user_transcript, agent_transcript, "
                "process_step, metrics with e2e_seconds, end)", choices=_RUN_FORMATS,
                field="output_format"),
        ),
        usage=("[--room ROOM] [OPTIONS]", "devices | setup"), has_server=False,
        after="""\
These name a LiveKit server. Without them, [voice] in the config file and LiveKit's own variables do \
(LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET, LIVEKIT_TOKEN), else the server of this machine is used:

  --url URL               its address, like wss://host
  --token-file FILE       a file with a token for it
  --token TOKEN           the token itself, which other programs can see

Exit codes without a screen: 2 when something has to be set up first, 4 when no agent came or the session \
broke off, 5 when no server was reached, 6 when it refused the token.""",
    ),
    Command(
        "voice setup", "install what voice needs",
        "Shows what voice needs that is not on this machine yet, with sizes and licences; asks; and "
        "installs it. It can be interrupted and repeated. You can refuse parts: without the server there "
        "is only a local session, without the agent's libraries none.", "tui.voice.commands:setup",
        options=(
            YES,
            Option("--only", "PART", "server, agent or models; can be repeated", many=True),
            Option("--hearing", "MODEL", "install this faster-whisper model, such as base or small",
                default=""),
            Option("--voice", "NAME", "install this Piper voice, such as de_DE-thorsten-medium", default=""),
            Option("--remove", "", "delete everything it installed"),
        ),
        local="voice is set up on this machine",
        usage=("[--yes] [--only PART]…", "--remove [--yes]", "[--hearing MODEL] [--voice NAME]"),
    ),
    Command(
        "voice devices", "list the microphones and speakers",
        "Lists microphones and speakers and marks those in use. Use their names for input and output in "
        "[voice], and in the options of agent-tui voice.", "tui.voice.devices:list_devices",
        options=(OUTPUT,), local="devices are those of this machine",
    ),
    Command(
        "voice-agent", "serve a LiveKit server of your own with the agent",
        "Serves a LiveKit server of your own with the agent, in the rooms that ask for it by its name. "
        "LIVEKIT_URL, LIVEKIT_API_KEY and LIVEKIT_API_SECRET name the server. One line of JSON on stdin says "
        "for whom it works: backend_url, backend_token, conversation_id, locale, agent. If stdin is a pipe, "
        "it works until the pipe is closed. What it does is on stdout, one JSON object per line.",
        "tui.voice.commands:serve_agent",
        options=(Option("--name", "NAME", "the name that rooms ask for (default: none, every room)",
            default=""),),
        local="the voice agent has its servers from its environment and stdin",
    ),
)

MACHINE_COMMANDS: Final = (
    Command(
        "serve", "run the backend alone, for other programs and machines",
        "Runs the backend alone. Rooms that were running when it ended resume when it starts again. The "
        "first line on stdout is: listening on http://HOST:PORT", "tui.startup:serve",
        (Argument("OPTIONS", optional=True, many=True, field="options"),),
        (
            Option("--host", "ADDRESS", "where to listen (default: 127.0.0.1)"),
            Option("--port", "N", "the port (default: 0, any free one)"),
            Option("--database", "URL", "sqlite:///path/file.db"),
            Option("--token-file", "FILE", "the token clients must send (AGENT_TUI_TOKEN); without one, a "
                "random token is written to a file named on stderr"),
            Option("--token", "TOKEN", "the same; others can see it in the process list"),
            Option("--no-token", "", "require no token; only on a loopback address"),
            Option("--demo-rate", "N", "the demo model's tokens per second per agent; 0: as fast as "
                "possible"),
            Option("--demo-seed", "N", "the demo model's random seed"),
            Option("--no-resume", "", "leave rooms that were running paused"),
            Option("--workspace", "DIR", "working folders of chats must be in this folder (default: "
                "none)"),
        ),
        usage=("[OPTIONS]",), has_server=False, own_parser=True,
    ),
    Command(
        "models", "list the providers and their models",
        "Lists the configured providers, each with its models or the reason it has none, and what was found "
        "on this machine but is not set up. The exit code is 0 if all answered, 4 if one did not.",
        "tui.cli.commands.models:list_models",
        options=(OUTPUT,), usage=("[--output text|json]", "setup"), kinds=ROOMS, needs_config=True,
        after="A key comes from the environment (api_key_env), the system's keyring (keyring = true), or "
        "the config file.",
    ),
    Command(
        "models setup",
        "connect a model: set up, change or remove a provider",
        "Sets up a provider on a screen, tests it, and saves it to the config file; existing ones can be "
        "changed and removed. Its key is saved in the system's keyring, or comes from an environment "
        "variable.", f"{_CALLS}:set_up_models",
        local="providers are set up for the backend of this machine",
    ),
    Command(
        "backend", "the backend that is started for you",
        "The backend that is started for you. It ends by itself when nobody uses it.", usage=("COMMAND",),
        has_server=False,
    ),
    Command(
        "backend status", "show whether it is running",
        "Shows whether your backend is running, its process and version, and how many rooms are running.",
        "tui.cli.commands.backend:status", options=(OUTPUT,),
        local="the embedded backend is on this machine",
    ),
    Command(
        "backend stop", "stop it; running rooms are paused",
        "Stops your backend. Running rooms are paused, running answers are cut; nothing that was said is "
        "lost.", "tui.cli.commands.backend:stop",
        local="the embedded backend is on this machine",
    ),
    Command("config", "the config file", "The config file.", usage=("COMMAND",), has_server=False),
    Command(
        "config path", "print its path",
        "Prints the absolute path of the config file. AGENT_TUI_CONFIG names another one.",
        f"{_CONFIG}:path", local=_MACHINE,
    ),
    Command(
        "config show", "print its settings, secrets hidden",
        "Prints the settings of the config file as TOML, secrets hidden.", f"{_CONFIG}:show",
        local=_MACHINE,
    ),
    Command(
        "config check", "check it for problems",
        'Prints one line for each problem, or "ok". A file that has problems but can be used is not a '
        "failure: the exit code is 0. If the file cannot be used at all: one line on stderr and exit code 2.",
        f"{_CONFIG}:check", local=_MACHINE,
    ),
    Command(
        "config keys", "list every action, its id and its keys",
        """\
Lists every action: its id, its current keys, what it does. To change keys, add the action's id under \
[keys] in the config file, with quotes around both:

  [keys]
  "room.zoom" = "f5"            another key
  "pane.find" = "ctrl+f, /"     several keys
  "pane.go_to" = ""             none; the palette (ctrl+p) has every action

ctrl+s, ctrl+q and ctrl+c cannot be changed. config check reports keys that cannot be used.""",
        f"{_CONFIG}:keys", options=(OUTPUT,), local=_MACHINE,
    ),
    Command(
        "doctor", "check this machine, and say how to fix what is wrong",
        "Checks the terminal, the config file, the data folder, the backend and its database, the models, "
        "the MCP servers and other servers, and what voice needs: sound, LiveKit, the agent and its "
        "models. Says how to fix each problem. Exit code 0 if nothing failed, else 4.",
        "tui.cli.doctor.checks:run",
        options=(
            Option("--json", "", 'one object: {"ok", "checks": […]}, each check with id, ok, status '
                "(ok, warning, failed, skipped), title, detail, fix", field="as_json"),
        ),
        local="doctor looks at this machine",
    ),
)

# fmt: on

COMMANDS: Final = {
    one.path: one for one in (*ROOM_COMMANDS, *CHAT_COMMANDS, *VOICE_COMMANDS, *MACHINE_COMMANDS)
}


def children(path: str) -> list[Command]:
    """Return the commands of a group; those of ``ROOT`` are the first words."""
    return [command for command in COMMANDS.values() if command.group == path and command.path]


def path_in(words: Sequence[str]) -> str:
    """Return the path of the command that ``words`` begin with, ``ROOT`` if it is none."""
    paths = (" ".join(words[:number]) for number in (2, 1))
    return next((path for path in paths if path in COMMANDS), ROOT)


def takes_value(word: str) -> bool:
    """Return whether ``word`` is an option of any command that takes a value."""
    return any(
        word in (option.name, option.short) and option.wants
        for command in COMMANDS.values()
        for option in command.options
        if not command.own_parser
    )

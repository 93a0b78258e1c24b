"""Every command of the command line, described once: what it is given, what it does, what runs it.

Its parser (``tui.cli.tree``), its help page and the README's table (``tui.cli.pages``), and what a shell
completes are all made of this. Plain data, because ``--help`` and the first frame wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

STRICT_VARIABLE: Final = "AGENT_TUI_STRICT"  # for scripts: every command is given --strict
ROOT: Final = ""
ROOMS: Final = ("rooms",)  # what a server speaks
CHATS: Final = ("chat",)


class Option(NamedTuple):
    """An option. ``wants`` is what stands behind it, "" for a flag; small words with bars between them are
    all that it takes, unless ``choices`` are. ``text`` is for the help page: its lines begin lines there.

    It is handed on as ``field``, by default its name. ``setting``: type and limits are those of the setting
    of a room that has this option; "path" is a type, too.
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
    completes: str = ""  # what ``tui.cli.completion`` offers
    variable: str = ""  # of the environment
    field: str = ""
    setting: bool = False

    @property
    def called(self) -> str:
        """The parameter of what runs the command."""
        return self.field or self.name.removeprefix("--").replace("-", "_")

    @property
    def offered(self) -> Sequence[str]:
        """All that it can be; empty where it can be anything."""
        return self.choices or (self.wants.split("|") if "|" in self.wants and self.wants.islower() else ())

    @property
    def shown(self) -> str:
        """The option as a usage line has it."""
        return f"[{self.name}{self.wants and ' ' + self.wants}]{'…' if self.many else ''}"


class Argument(NamedTuple):
    """An argument; ``empty`` is the complaint about one that says nothing, which refers to a page ``see``."""

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
        """The argument as a usage line has it."""
        name = f"{self.name}…" if self.many and self.name != "TITLE" else self.name
        return f"[{name}]" if self.optional else name


class Command(NamedTuple):
    """A command, or a group of them, which ``runs`` "module:function".

    That gets the server of one of these ``kinds`` as ``source``, nothing where the command is ``local``
    (which says what is on this machine), else the ``connection``, and what was given.

    On the help page: ``usage`` where it is not made of what can be given, ``about`` and ``after`` above and
    below the options; a paragraph that begins with a blank is left as it is. ``brief`` is for the group's
    page and for shells.
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
    has_server: bool = True  # it can be pointed at another one
    own_parser: bool = False  # what follows is read by what it starts

    @property
    def group(self) -> str:
        """The path of the group that it is in."""
        return self.path.rpartition(" ")[0]


# --- what many have ----------------------------------------------------------------------------------------

_RUN_FORMATS: Final = ("text", "json", "stream-json")
_ROOM_TEXT: Final = "ROOM is a room's id, its name, or the beginning of either that fits no other room."
_CHAT_TEXT: Final = (
    "CONVERSATION is a conversation's id, its title, or the beginning of either that fits no other one."
)
_RULE_TEXT: Final = "RULE is the rule's id, the beginning of it that fits no other rule, or its pattern."

ROOM: Final = Argument("ROOM", text=_ROOM_TEXT, completes="rooms")
CONVERSATION: Final = Argument("CONVERSATION", text=_CHAT_TEXT, completes="conversations")
RULE: Final = Argument("RULE", text=_RULE_TEXT)
OUTPUT: Final = Option("--output", "text|json", default="text", field="output_format")
YES: Final = Option("--yes", "", "do not ask", short="-y")
OUT: Final = Option("--out", "FILE", "write here instead of stdout", type="path")
STRICT: Final = Option("--strict", variable=STRICT_VARIABLE)
_NO_DEMO: Final = "without having been named (AGENT_TUI_STRICT=1 says so, too)"

# A table: what belongs together stands together.
# fmt: off

# The options of a new room; where they are settings, records.py has their types and limits.
NEW_ROOM: Final = (
    Option("--from", "FILE", "a room file; the options below are stronger", type="path", field="from_file"),
    Option("--task", "TEXT", "what the room is about", setting=True),
    Option("--name", "TEXT", "its name (default: the beginning of the task)", setting=True),
    Option("--agent", "NAME[=MODEL]", "one agent; may be given again (default: three with different "
        "roles)", many=True, field="agents"),
    Option("--template", "ID", "one agent from a template; may be given again (agent-tui rooms "
        "templates lists them)", many=True, completes="templates", field="templates"),
    Option("--provider", "NAME", "the provider of agents that name none (default: the first of the "
        "config file; demo is the demo model)", completes="providers"),
    Option("--rounds", "N", "how often every agent speaks (default: 3)", setting=True),
    Option("--mode", "MODE", "sequential or parallel (default: sequential)", setting=True),
    Option("--max-tokens", "N", "the room pauses once so many tokens were used (default: 0, none)",
        setting=True),
    Option("--max-cost", "X", "the same in US dollars, where the price is known", setting=True),
    Option("--on-error", "WORD", "what the room does after a turn that failed: continue (default) or "
        "pause", setting=True),
    Option("--on-resume", "WORD", "what becomes of a turn that was cut when the room is resumed: "
        "continue (default) or again", setting=True),
    Option("--tool", "NAME", "a tool that the agents may use; may be given again (default: none; "
        "agent-tui tools list names them)", many=True, setting=True),
    Option("--workspace", "DIR", "the folder that the tools work in", setting=True),
    Option("--guide", "WORD", "whether models are told the AGENTS.md of that folder: tell (default) "
        "or ignore", setting=True),
    Option("--keep-running", "", "the room goes on when nobody watches it", setting=True),
    STRICT._replace(text=f"exit code 2 where the demo model would speak {_NO_DEMO}"),
)

_ROOMS: Final = "tui.cli.commands.rooms"
_CHATS: Final = "tui.cli.commands.conversations"
_TOOLS: Final = "tui.cli.commands.tools"
_CONFIG: Final = "tui.cli.commands.config"
_CALLS: Final = "tui.cli.calls"
_MACHINE: Final = "the config file is on this machine"
ROOM_COMMANDS: Final = (
    Command(
        "rooms", "the rooms, or one of them, on a screen; with none yet, a demo room",
        "Opens the rooms, or one of them, on a screen. With no room yet, a demo room is made and started.",
        f"{_CALLS}:open_rooms", usage=("[ROOM]", "COMMAND"),
        arguments=(ROOM._replace(optional=True, see="rooms"),),
        after="A room that has the name of a command is opened by: agent-tui rooms -- NAME",
    ),
    Command(
        "rooms list", "the rooms",
        "Lists the rooms. As json: the body of GET /api/rooms, as the server answered it.",
        f"{_ROOMS}:list_rooms", options=(OUTPUT,), kinds=ROOMS,
    ),
    Command(
        "rooms new", "make a room",
        "Makes a room and prints its id. It does not start: agent-tui rooms run ID does that, or p on a "
        "screen.", f"{_CALLS}:new_room",
        options=(*NEW_ROOM, OUTPUT._replace(text="the id, or the room as the server answered it")),
        usage=("--task TEXT [OPTIONS]", "--from FILE [OPTIONS]"),
    ),
    Command(
        "rooms show", "one room",
        "Shows one room. As json: the body of GET /api/rooms/ID, as the server answered it.",
        f"{_ROOMS}:show_room", (ROOM,), (OUTPUT,), ROOMS,
    ),
    Command(
        "rooms delete", "delete a room and everything said in it",
        "Deletes a room and everything said in it. Asks first.", f"{_ROOMS}:delete_room", (ROOM,),
        (YES, OUTPUT), ROOMS,
    ),
    Command(
        "rooms pause", "pause a room; what is being said is kept",
        "Pauses a room. Words that were being said are kept; the turn is done again on resume.",
        f"{_ROOMS}:pause_room", (ROOM,), (OUTPUT,), ROOMS,
    ),
    Command(
        "rooms resume", "go on with the very turn that was cut",
        "Lets a paused room go on, with the very turn that was cut. On your own backend a room that nobody "
        "watches pauses itself after 30 s, unless it was made with --keep-running.",
        f"{_ROOMS}:resume_room", (ROOM,), (OUTPUT,), ROOMS,
    ),
    Command(
        "rooms run", "run or resume a room to its end, without a screen",
        "Runs or resumes a room to its end without a screen; without ROOM it makes one first, also from a "
        "room file. Ctrl-C pauses the room and ends; a second Ctrl-C leaves at once.",
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
        after="--max-tokens, --max-cost, --on-error, --on-resume, --tool, --workspace and --keep-running "
        "also change a room that is there. A tool that asks runs only where a rule of the room or the "
        "config file allows it. Only the answer goes to stdout; progress and one line per failed turn go "
        "to stderr.",
    ),
    Command(
        "rooms export", "write a room and what was said in it to a file",
        "Writes a room and everything that was said in it, in order, to stdout or to a file.",
        "tui.cli.export.document:export_room", (ROOM,),
        (
            Option("--format", "md|json|html|toml",
                "md (default): Markdown, as the agents wrote it\n"
                "html: one page that needs nothing else\n"
                "json: the room and its messages, as the server answered them\n"
                "toml: the room alone, as a file that new and run take", default="md", field="form"),
            OUT,
        ),
        ROOMS,
    ),
    Command(
        "rooms templates", "the agents that a room can be made of",
        """\
Lists the agents that new and run make a room of. Your own are files in agents/ beside the config file, one \
agent each; one that has the name of a shipped one replaces it:

  color = "#4c9be8"             optional, as are model and provider
  [en]                          also [zh] and [ru]
  name = "Historian"
  summary = "knows how it came to be"
  prompt = "You are the historian in a discussion. …\"""",
        "tui.cli.commands.templates:templates",
        options=(
            Option("--keep", "ID", "write a shipped one there, to be edited, and print its path",
                completes="templates"),
            OUTPUT,
        ),
        local="the templates are on this machine",
    ),
)

CHAT_COMMANDS: Final = (
    Command(
        "chat", "a conversation on a screen",
        "Opens a conversation on a screen: the newest, or with none yet a new one.", f"{_CALLS}:chat",
        (CONVERSATION._replace(optional=True, field="conversation", see="chat"),),
        (Option("--new", "", "a new one, whose tools work in the folder where the command is given"),),
        after="With --backend NAME of kind tasks CONVERSATION is the id of a session (default: a new one), "
        "of kind socket that of a chat (default: 0).\n"
        "\n"
        "? on the screen lists its keys; / in the line lists its commands.",
    ),
    Command(
        "ask", "one question, answered without a screen",
        "Asks one question and writes the answer as it comes. What is piped in is the question; beside "
        'TEXT it is attached to it, as "stdin" (also where TEXT holds a "-"). Ctrl-C stops the answer and '
        "ends; a second Ctrl-C leaves at once.", f"{_CALLS}:ask",
        (Argument("TEXT", optional=True, many=True, field="text"),),
        (
            Option("--file", "FILE", "attach a text file; may be given again", type="path", short="-f",
                many=True, field="files"),
            Option("--conversation", "ID", "go on with this conversation: its id, its title, or the "
                "beginning of either; of a backend of kind tasks the id of a session (default: a new one, "
                "whose id is on stderr)", completes="conversations"),
            Option("--model", "MODEL", "the model that answers"),
            Option("--provider", "ID", "its provider (agent-tui models lists them)", completes="providers"),
            Option("--workspace", "DIR", "the folder that its tools work in (default: on your own "
                "backend the one where the command is given); these three also change a conversation that "
                "is there", type="path"),
            Option("--tools", "NAMES", "the tools it may use, with commas between them, or none "
                "(default: what the conversation has)"),
            Option("--allow", "PATTERN", "let calls run that would ask, like 'run_command(make test)' "
                "or write_file; may be given again. Every other one is denied", many=True),
            Option("--thinking", "", "let the model think aloud first"),
            STRICT._replace(text=f"exit code 2 where the demo model would answer {_NO_DEMO}"),
            Option("--chat-id", "N", "the chat of a backend of kind socket (default: 0)", type=int),
            Option("--output", "FORMAT",
                "text (default): the answer alone\n"
                "json: one object at the end, with the conversation and its messages\n"
                'stream-json: one object per line and event, and a last one named "end"', default="text",
                choices=_RUN_FORMATS, field="output_format"),
        ),
        usage=("TEXT… [-f FILE]… [OPTIONS]", "COMMAND | agent-tui ask [TEXT…] [OPTIONS]"),
        after="Only the answer goes to stdout; one line for each call of a tool goes to stderr.",
    ),
    Command(
        "conversations", "what was asked and answered", "What was asked and answered.",
        arguments=(CONVERSATION,), usage=("COMMAND",),
    ),
    Command(
        "conversations list", "the conversations, newest activity first",
        "Lists the conversations, newest activity first. As json: the body of GET /api/conversations, as "
        "the server answered it.", f"{_CHATS}:list_conversations",
        options=(Option("--archived", "", "also those that were put away"), OUTPUT), kinds=CHATS,
    ),
    Command(
        "conversations search", "the messages that hold these words",
        "Finds the messages of all conversations, rooms too, that hold all of these words or words that "
        "begin so, newest first. As json: the body of GET /api/search, as the server answered it; in a "
        "snippet each match stands between U+0002 and U+0003.", f"{_CHATS}:search",
        (Argument("WORDS", many=True, empty="nothing to search for", see="conversations search"),),
        (Option("--limit", "N", "so many at most (default: 20)", type=int, default=20, least=1), OUTPUT),
        CHATS,
    ),
    Command(
        "conversations show", "what is set in one, and what it has used",
        "Shows one conversation: its model, its tools and their folder, what it has used. As json: the "
        "body of GET /api/conversations/ID, as the server answered it.", f"{_CHATS}:show", (CONVERSATION,),
        (OUTPUT,), CHATS,
    ),
    Command(
        "conversations export", "write one to a file",
        "Writes a conversation, its thoughts and its tools, in order, to stdout or to a file: of questions "
        "and answers that have several versions the one that is shown. agent-tui chat CONVERSATION shows "
        "another one ([ and ]).", "tui.cli.export.conversations:export_conversation", (CONVERSATION,),
        (
            Option("--format", "md|json|html|srt",
                "md (default): Markdown, as the model wrote it\n"
                "html: one page that needs nothing else; thoughts and tools are folded\n"
                "json: the conversation and its messages, as the server answered them\n"
                "srt: a voice session as subtitles: who said what, when", default="md", field="form"),
            OUT,
        ),
        CHATS,
    ),
    Command(
        "conversations delete", "delete one and everything said in it",
        "Deletes a conversation and everything said in it. Asks first.", f"{_CHATS}:delete",
        (CONVERSATION,), (YES, OUTPUT), CHATS,
    ),
    Command(
        "conversations rename", "give one another title", "Gives a conversation another title.",
        f"{_CHATS}:rename",
        (CONVERSATION, Argument("TITLE", many=True, field="title", see="conversations rename")), (OUTPUT,),
        CHATS,
    ),
    Command(
        "tools", "what agents may use, and what runs without asking",
        "What agents may use, and what of it runs without asking.", usage=("COMMAND",),
        after="A rule that is kept on the screen allows the one call that was shown, a command only in the "
        "folder that it was shown in. Wider ones are written into the config file: [tools] allow = "
        '["fetch_url(https://docs.python.org/*)"]',
    ),
    Command(
        "tools list", "the tools",
        "Lists the tools, those of MCP servers in the config file among them, and whether they ask before "
        "they run. As json: also their parameters.", f"{_TOOLS}:list_tools", options=(OUTPUT,),
        kinds=CHATS,
    ),
    Command(
        "tools rules", "what was allowed, and where",
        "Lists what was allowed for always or in one conversation, without what the config file allows. "
        "Rules of earlier versions were wider than what had been shown: they are suspended, and allow "
        "nothing until they are confirmed.", f"{_TOOLS}:list_rules", options=(OUTPUT,), kinds=CHATS,
    ),
    Command(
        "tools confirm", "let a suspended rule of an earlier version hold again",
        "Lets a suspended rule of an earlier version allow again all that fits its pattern, in every "
        "folder.", f"{_TOOLS}:confirm_rule", (RULE,), (OUTPUT,), CHATS,
    ),
    Command(
        "tools forget", "ask again before what a rule allows", "Takes back what was allowed.",
        f"{_TOOLS}:forget_rule", (RULE,), (OUTPUT,), CHATS,
    ),
)

VOICE_COMMANDS: Final = (
    Command(
        "voice", "a spoken conversation in a voice room",
        "Talks with an agent in a voice room. What is missing is started on this machine: a LiveKit server "
        "and the agent. Without a screen, --wav says a file, or --text with --output takes lines from "
        "stdin, and what both sides say goes to stdout.", "tui.voice.commands:voice",
        options=(
            Option("--room", "ROOM", "the room (default: room of [voice], else demo)"),
            Option("--agent", "NAME|FILE.py",
                "NAME: the agent that a LiveKit server is to call\n"
                "FILE.py: your own LiveKit agent, run without a server", default=""),
            Option("--text", "", "type instead of talking; no sound"),
            Option("--muted", "", "begin with the microphone muted"),
            Option("--headphones", "", "no echo to cancel: the speaker is not heard"),
            Option("--no-aec", "", "never cancel the echo of the speaker"),
            Option("--input", "NAME", "the microphone (agent-tui voice devices lists them)",
                default="", field="input_name"),
            Option("--output-device", "NAME", "the speaker", default="", field="output_name"),
            Option("--wav", "FILE", "say this WAV file, wait for the answer, and end; - is stdin",
                type="path"),
            Option("--record", "FILE", "write what is heard from the agent to a WAV file", type="path"),
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
These name a LiveKit server. Without them [voice] of the config file and LiveKit's own variables do \
(LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET, LIVEKIT_TOKEN), else the server of this machine is used:

  --url URL               its address, like wss://host
  --token-file FILE       a file with a token for it
  --token TOKEN           the token itself, which other programs can see

Exit codes without a screen: 2 when something has to be set up first, 4 when no agent came or the session \
broke off, 5 when no server was reached, 6 when it refused the token.""",
    ),
    Command(
        "voice setup", "get what voice needs and is not here yet",
        "Says what voice needs and is not on this machine yet, how large it is and under which licences; "
        "asks; and gets it. It can be interrupted and done again. What is refused stays away: without the "
        "server there is a local session, without the agent's libraries none.", "tui.voice.commands:setup",
        options=(
            YES,
            Option("--only", "PART", "server, agent or models; may be given again", many=True),
            Option("--hearing", "MODEL", "get this faster-whisper model, like base or small", default=""),
            Option("--voice", "NAME", "get this Piper voice, like de_DE-thorsten-medium", default=""),
            Option("--remove", "", "delete all that was got"),
        ),
        local="voice is set up on this machine",
        usage=("[--yes] [--only PART]…", "--remove [--yes]", "[--hearing MODEL] [--voice NAME]"),
    ),
    Command(
        "voice devices", "the microphones and speakers",
        "Lists microphones and speakers, the ones in use marked. Their names are what input and output of "
        "[voice] take, and the options of agent-tui voice.", "tui.voice.devices:list_devices",
        options=(OUTPUT,), local="devices are those of this machine",
    ),
)

MACHINE_COMMANDS: Final = (
    Command(
        "serve", "the backend alone, for other programs and machines",
        "Runs the backend alone. Rooms that ran when it ended go on when it is started again. The first "
        "line on stdout is: listening on http://HOST:PORT", "tui.startup:serve",
        (Argument("OPTIONS", optional=True, many=True, field="options"),),
        (
            Option("--host", "ADDRESS", "where to listen (default: 127.0.0.1)"),
            Option("--port", "N", "at which port (default: 0, any free one)"),
            Option("--database", "URL", "sqlite:///path/file.db"),
            Option("--token-file", "FILE", "what clients must show (AGENT_TUI_TOKEN); without one it "
                "is made up and written to a file that stderr names"),
            Option("--token", "TOKEN", "the same; others can read it in the list of processes"),
            Option("--no-token", "", "ask for none; on a loopback address only"),
            Option("--demo-rate", "N", "tokens a second of each agent of the demo model, 0: as fast as "
                "it goes"),
            Option("--demo-seed", "N", "another seed, other words"),
            Option("--no-resume", "", "rooms that ran stay paused"),
            Option("--workspace", "DIR", "tools of chats may work in this folder and below (default: "
                "nowhere)"),
        ),
        usage=("[OPTIONS]",), has_server=False, own_parser=True,
    ),
    Command(
        "models", "the providers of models and what they offer",
        "Lists the configured providers, each with the models it offers or why it offers none. The exit "
        "code is 0 when all answered, 4 when one did not.", "tui.cli.commands.models:list_models",
        options=(OUTPUT,), usage=("[--output text|json]", "setup"), kinds=ROOMS,
        after="A key comes from the environment (api_key_env), the system's keyring (keyring = true), or "
        "the config file.",
    ),
    Command(
        "models setup",
        "set up a provider on a screen: its address, its key, a test, its model; or change or remove one",
        "Sets up a provider on a screen and saves it to the config file once it answered; one that is "
        "there can be changed and removed. Its key is kept in the system's keyring, or comes from an "
        "environment variable.", f"{_CALLS}:set_up_models",
        local="providers are set up for the backend of this machine",
    ),
    Command(
        "backend", "the backend that is started for you",
        "The backend that is started for you. It ends by itself when nobody uses it.", usage=("COMMAND",),
        has_server=False,
    ),
    Command(
        "backend status", "whether it runs",
        "Says whether your backend runs, as which process, in which version, and how many rooms run in it.",
        "tui.cli.commands.backend:status", options=(OUTPUT,),
        local="the embedded backend is on this machine",
    ),
    Command(
        "backend stop", "stop it; rooms that run are paused",
        "Stops your backend. Rooms that run are paused, answers of chats end where they are; nothing that "
        "was said is lost.", "tui.cli.commands.backend:stop",
        local="the embedded backend is on this machine",
    ),
    Command("config", "the config file", "The config file.", usage=("COMMAND",), has_server=False),
    Command(
        "config path", "print where it is",
        "Prints the absolute path of the config file. AGENT_TUI_CONFIG names another one.",
        f"{_CONFIG}:path", local=_MACHINE,
    ),
    Command(
        "config show", "print what it says, secrets hidden",
        "Prints the settings of the config file as TOML, secrets hidden.", f"{_CONFIG}:show",
        local=_MACHINE,
    ),
    Command(
        "config check", "say what is wrong with it",
        'Prints one line for everything that looks wrong, or "ok". What cannot be used at all is one line '
        "on stderr and exit code 2.", f"{_CONFIG}:check", local=_MACHINE,
    ),
    Command(
        "config keys", "list every action of the screens, its id and its keys",
        """\
Lists every action of the screens: its id, the keys it has now, what it does. Under [keys] of the config \
file an action gets other keys by its id, with quotes around both:

  [keys]
  "room.zoom" = "f5"            another key
  "pane.find" = "ctrl+f, /"     several keys
  "pane.go_to" = ""             none; the palette (ctrl+p) has every action

ctrl+s, ctrl+q and ctrl+c always do what they do. config check says which wishes cannot be met.""",
        f"{_CONFIG}:keys", options=(OUTPUT,), local=_MACHINE,
    ),
    Command(
        "doctor", "what on this machine is not as it should be, and how to mend it",
        "Looks at the terminal, the config file, the data folder, the backend and its database, the "
        "models, the servers of tools and the other servers, and at what voice needs: sound, LiveKit, the "
        "agent and its models. Says for everything that is not as it should be how to mend it. Exit code 0 "
        "when nothing failed, else 4.", "tui.cli.doctor.checks:run",
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
    return [one for one in COMMANDS.values() if one.group == path and one.path]


def takes_value(word: str) -> bool:
    """Say whether ``word`` is an option of some command that takes a value."""
    return any(
        word in (option.name, option.short) and option.wants
        for command in COMMANDS.values()
        for option in command.options
        if not command.own_parser
    )

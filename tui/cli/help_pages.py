"""The help pages: one for each command, written by hand, and the only place that describes an option."""

from __future__ import annotations

from collections.abc import Mapping

from tui.cli.help_chat import CHAT_HELP
from tui.cli.help_parts import SERVER
from tui.cli.help_voice import VOICE_HELP

_ROOM = """
  ROOM is a room's id, its name, or the beginning of either that fits no other
  room.
"""

_NEW = """\
  --from FILE             a room file; the options below are stronger
  --task TEXT             what the room is about
  --name TEXT             its name (default: the beginning of the task)
  --agent NAME[=MODEL]    one agent; may be given again
                          (default: three with different roles)
  --template ID           one agent from a template; may be given again
                          (agent-tui rooms templates lists them)
  --provider NAME         the provider of agents that name none (default: the
                          first of the config file; demo is the demo model)
  --rounds N              how often every agent speaks (default: 3)
  --mode MODE             sequential or parallel (default: sequential)
  --max-tokens N          the room pauses once so many tokens were used
                          (default: 0, none)
  --max-cost X            the same in US dollars, where the price is known
  --on-error WORD         what the room does after a turn that failed:
                          continue (default) or pause
  --on-resume WORD        what becomes of a turn that was cut when the room is
                          resumed: continue (default) or again
  --tool NAME             a tool that the agents may use; may be given again
                          (default: none; agent-tui tools list names them)
  --workspace DIR         the folder that the tools work in
  --keep-running          the room goes on when nobody watches it
  --strict                exit code 2 where the demo model would speak without
                          having been named (AGENT_TUI_STRICT=1 says so, too)
"""

HELP: Mapping[str, str] = {
    "": f"""\
Usage: agent-tui [COMMAND]

The terminal for conversations with agents.

  agent-tui               the rooms, on a screen
  agent-tui rooms [ROOM]  the rooms, or one of them; with none yet, a demo room
                          is made and started
  agent-tui rooms list | new | show | delete | pause | resume | run | export |
                  templates
  agent-tui chat [CONVERSATION]
                          a conversation on a screen, or a new one
  agent-tui ask TEXT      one question, answered without a screen
  agent-tui voice         a spoken conversation in a voice room; voice devices
                          lists microphones and speakers, voice setup gets what
                          is missing
  agent-tui conversations list | search | show | export | delete | rename
  agent-tui tools         what agents may use: list | rules | confirm | forget
  agent-tui serve         the backend alone, for other programs and machines
  agent-tui backend status | stop
  agent-tui models        the providers of models and what they offer;
                          models setup adds, changes and removes one
  agent-tui config path | show | check | keys
  agent-tui doctor        what on this machine is not as it should be, and how
                          to mend it

  -h, --help              this page; every command has one
  --version               the version
  --install-completion [SHELL]
                          set up completion: bash, zsh or fish (default: the
                          shell you are in)
  --show-completion [SHELL]
                          print the script for it
{SERVER}
Exit codes
  0  done
  1  a bug of ours
  2  wrong usage or configuration
  3  paused or interrupted
  4  the room, agent or server reported an error, there is no such room or
     conversation, or the answer broke off
  5  cannot connect, or gave up reconnecting
  6  busy, token refused, or not allowed
""",
    "rooms": f"""\
Usage: agent-tui rooms [ROOM]
       agent-tui rooms COMMAND

Opens the rooms, or one of them, on a screen. With no room yet, a demo room is
made and started.
{_ROOM}
  list                    the rooms
  new                     make a room
  show ROOM               one room
  delete ROOM             delete a room and everything said in it
  pause ROOM              pause a room; what is being said is kept
  resume ROOM             go on with the very turn that was cut
  run [ROOM]              run or resume a room to its end, without a screen
  export ROOM             write a room and what was said in it to a file
  templates               the agents that a room can be made of

A room that has the name of a command is opened by: agent-tui rooms -- NAME
{SERVER}""",
    "rooms list": f"""\
Usage: agent-tui rooms list [--output text|json]

Lists the rooms. As json: the body of GET /api/rooms, as the server answered it.
{SERVER}""",
    "rooms new": f"""\
Usage: agent-tui rooms new --task TEXT [OPTIONS]
       agent-tui rooms new --from FILE [OPTIONS]

Makes a room and prints its id. It does not start: agent-tui rooms run ID does
that, or p on a screen.

{_NEW}  --output text|json      the id, or the room as the server answered it
{SERVER}""",
    "rooms show": f"""\
Usage: agent-tui rooms show ROOM [--output text|json]

Shows one room. As json: the body of GET /api/rooms/ID, as the server answered
it.
{_ROOM}{SERVER}""",
    "rooms delete": f"""\
Usage: agent-tui rooms delete ROOM [--yes] [--output text|json]

Deletes a room and everything said in it. Asks first.
{_ROOM}
  --yes                   do not ask
{SERVER}""",
    "rooms pause": f"""\
Usage: agent-tui rooms pause ROOM [--output text|json]

Pauses a room. Words that were being said are kept; the turn is done again on
resume.
{_ROOM}{SERVER}""",
    "rooms resume": f"""\
Usage: agent-tui rooms resume ROOM [--output text|json]

Lets a paused room go on, with the very turn that was cut. On your own backend a
room that nobody watches pauses itself after 30 s, unless it was made with
--keep-running.
{_ROOM}{SERVER}""",
    "rooms run": f"""\
Usage: agent-tui rooms run ROOM [OPTIONS]
       agent-tui rooms run FILE.toml [OPTIONS]
       agent-tui rooms run --task TEXT [OPTIONS]

Runs or resumes a room to its end without a screen; without ROOM it makes one
first, also from a room file. Ctrl-C pauses the room and ends; a second Ctrl-C
leaves at once.
{_ROOM}
{_NEW}  --output FORMAT         text (default): what the agents say, as they say it
                          json: one object at the end, with the room and its
                          messages
                          stream-json: one object per line and event, and a last
                          one named "end"

--max-tokens, --max-cost, --on-error, --on-resume, --tool, --workspace and
--keep-running also change a room that is there. A tool that asks runs only
where a rule of the room or the config file allows it. Only the answer goes to
stdout; progress and one line per failed turn go to stderr.
{SERVER}""",
    "rooms export": f"""\
Usage: agent-tui rooms export ROOM [--format md|json|html|toml] [--out FILE]

Writes a room and everything that was said in it, in order, to stdout or to a
file.
{_ROOM}
  --format FORMAT         md (default): Markdown, as the agents wrote it
                          html: one page that needs nothing else
                          json: the room and its messages, as the server
                          answered them
                          toml: the room alone, as a file that new and run take
  --out FILE              write here instead of stdout
{SERVER}""",
    "rooms templates": """\
Usage: agent-tui rooms templates [--keep ID] [--output text|json]

Lists the agents that new and run make a room of. Your own are files in agents/
beside the config file, one agent each; one that has the name of a shipped one
replaces it:

  color = "#4c9be8"             optional, as are model and provider
  [en]                          also [zh] and [ru]
  name = "Historian"
  summary = "knows how it came to be"
  prompt = "You are the historian in a discussion. …"

  --keep ID               write a shipped one there, to be edited, and print its
                          path
""",
    **CHAT_HELP,
    **VOICE_HELP,
    "serve": """\
Usage: agent-tui serve [OPTIONS]

Runs the backend alone. Rooms that ran when it ended go on when it is started
again. The first line on stdout is: listening on http://HOST:PORT

  --host ADDRESS          where to listen (default: 127.0.0.1)
  --port N                at which port (default: 0, any free one)
  --database URL          sqlite:///path/file.db
  --token-file FILE       what clients must show  (AGENT_TUI_TOKEN); without one
                          it is made up and written to a file that stderr names
  --token TOKEN           the same; others can read it in the list of processes
  --no-token              ask for none; on a loopback address only
  --demo-rate N           tokens a second of each agent of the demo model,
                          0: as fast as it goes
  --demo-seed N           another seed, other words
  --no-resume             rooms that ran stay paused
  --workspace DIR         tools of chats may work in this folder and below
                          (default: nowhere)
""",
    "models": f"""\
Usage: agent-tui models [--output text|json]
       agent-tui models setup

Lists the configured providers, each with the models it offers or why it offers
none. The exit code is 0 when all answered, 4 when one did not.

  setup                   set up a provider on a screen: its address, its key,
                          a test, its model; or change or remove one

A key comes from the environment (api_key_env), the system's keyring
(keyring = true), or the config file.
{SERVER}""",
    "models setup": """\
Usage: agent-tui models setup

Sets up a provider on a screen and saves it to the config file once it answered;
one that is there can be changed and removed. Its key is kept in the system's
keyring, or comes from an environment variable.
""",
    "backend": """\
Usage: agent-tui backend COMMAND

The backend that is started for you. It ends by itself when nobody uses it.

  status                  whether it runs
  stop                    stop it; rooms that run are paused
""",
    "backend status": """\
Usage: agent-tui backend status [--output text|json]

Says whether your backend runs, as which process, in which version, and how many
rooms run in it.
""",
    "backend stop": """\
Usage: agent-tui backend stop

Stops your backend. Rooms that run are paused, answers of chats end where they
are; nothing that was said is lost.
""",
    "config": """\
Usage: agent-tui config COMMAND

The config file.

  path                    print where it is
  show                    print what it says, secrets hidden
  check                   say what is wrong with it
  keys                    list every action of the screens, its id and its keys
""",
    "config path": """\
Usage: agent-tui config path

Prints the absolute path of the config file. AGENT_TUI_CONFIG names another one.
""",
    "config show": """\
Usage: agent-tui config show

Prints the settings of the config file as TOML, secrets hidden.
""",
    "config check": """\
Usage: agent-tui config check

Prints one line for everything that looks wrong, or "ok". What cannot be used at
all is one line on stderr and exit code 2.
""",
    "config keys": """\
Usage: agent-tui config keys [--output text|json]

Lists every action of the screens: its id, the keys it has now, what it does.
Under [keys] of the config file an action gets other keys by its id, with quotes
around both:

  [keys]
  "room.zoom" = "f5"            another key
  "pane.find" = "ctrl+f, /"     several keys
  "pane.go_to" = ""             none; the palette (ctrl+p) has every action

ctrl+s, ctrl+q and ctrl+c always do what they do. config check says which wishes
cannot be met.
""",
    "doctor": """\
Usage: agent-tui doctor [--json]

Looks at the terminal, the config file, the data folder, the backend and its
database, the models, the servers of tools and the other servers, and at what
voice needs: sound, LiveKit, the agent and its models. Says for everything that
is not as it should be how to mend it. Exit code 0 when nothing failed, else 4.

  --json                  one object: {"ok", "checks": […]}, each check with
                          id, ok, status (ok, warning, failed, skipped), title,
                          detail, fix
""",
}

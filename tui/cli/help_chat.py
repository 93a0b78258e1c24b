"""The help pages of the commands about chats (``tui.cli.help_pages``)."""

from __future__ import annotations

from collections.abc import Mapping

from tui.cli.help_parts import SERVER

_CONVERSATION = """
  CONVERSATION is a conversation's id, its title, or the beginning of either
  that fits no other one.
"""

CHAT_HELP: Mapping[str, str] = {
    "chat": f"""\
Usage: agent-tui chat [CONVERSATION] [--new]

Opens a conversation on a screen: the newest, or with none yet a new one.
{_CONVERSATION}
  --new                   a new one, whose tools work in the folder where the
                          command is given

With --backend NAME of kind tasks CONVERSATION is the id of a session (default:
a new one), of kind socket that of a chat (default: 0).

? on the screen lists its keys; / in the line lists its commands.
{SERVER}""",
    "ask": f"""\
Usage: agent-tui ask TEXT… [-f FILE]… [OPTIONS]
       COMMAND | agent-tui ask [TEXT…] [OPTIONS]

Asks one question and writes the answer as it comes. What is piped in is the
question; beside TEXT it is attached to it, as "stdin" (also where TEXT holds a
"-"). Ctrl-C stops the answer and ends; a second Ctrl-C leaves at once.

  -f, --file FILE         attach a text file; may be given again
  --conversation ID       go on with this conversation: its id, its title, or
                          the beginning of either; of a backend of kind tasks
                          the id of a session (default: a new one, whose id is
                          on stderr)
  --model MODEL           the model that answers
  --provider ID           its provider (agent-tui models lists them)
  --workspace DIR         the folder that its tools work in (default: on your
                          own backend the one where the command is given);
                          these three also change a conversation that is there
  --tools NAMES           the tools it may use, with commas between them, or
                          none (default: what the conversation has)
  --allow PATTERN         let calls run that would ask, like
                          'run_command(make test)' or write_file; may be given
                          again. Every other one is denied
  --thinking              let the model think aloud first
  --strict                exit code 2 where the demo model would answer without
                          having been named (AGENT_TUI_STRICT=1 says so, too)
  --chat-id N             the chat of a backend of kind socket (default: 0)
  --output FORMAT         text (default): the answer alone
                          json: one object at the end, with the conversation and
                          its messages
                          stream-json: one object per line and event, and a last
                          one named "end"

Only the answer goes to stdout; one line for each call of a tool goes to stderr.
{SERVER}""",
    "conversations": f"""\
Usage: agent-tui conversations COMMAND

What was asked and answered.

  list                    the conversations, newest activity first
  search WORDS…           the messages that hold these words
  show CONVERSATION       what is set in one, and what it has used
  export CONVERSATION     write one to a file
  delete CONVERSATION     delete one and everything said in it
  rename CONVERSATION TITLE
                          give one another title
{_CONVERSATION}{SERVER}""",
    "conversations list": f"""\
Usage: agent-tui conversations list [--archived] [--output text|json]

Lists the conversations, newest activity first. As json: the body of
GET /api/conversations, as the server answered it.

  --archived              also those that were put away
{SERVER}""",
    "conversations search": f"""\
Usage: agent-tui conversations search WORDS… [--limit N] [--output text|json]

Finds the messages of all conversations, rooms too, that hold all of these words
or words that begin so, newest first. As json: the body of GET /api/search, as
the server answered it; in a snippet each match stands between U+0002 and
U+0003.

  --limit N               so many at most (default: 20)
{SERVER}""",
    "conversations show": f"""\
Usage: agent-tui conversations show CONVERSATION [--output text|json]

Shows one conversation: its model, its tools and their folder, what it has used.
As json: the body of GET /api/conversations/ID, as the server answered it.
{_CONVERSATION}{SERVER}""",
    "conversations export": f"""\
Usage: agent-tui conversations export CONVERSATION
                                      [--format md|json|html|srt] [--out FILE]

Writes a conversation, its thoughts and its tools, in order, to stdout or to a
file: of questions and answers that have several versions the one that is shown.
agent-tui chat CONVERSATION shows another one ([ and ]).
{_CONVERSATION}
  --format FORMAT         md (default): Markdown, as the model wrote it
                          html: one page that needs nothing else; thoughts and
                          tools are folded
                          json: the conversation and its messages, as the server
                          answered them
                          srt: a voice session as subtitles: who said what, when
  --out FILE              write here instead of stdout
{SERVER}""",
    "conversations delete": f"""\
Usage: agent-tui conversations delete CONVERSATION [--yes]
                                      [--output text|json]

Deletes a conversation and everything said in it. Asks first.
{_CONVERSATION}
  --yes                   do not ask
{SERVER}""",
    "conversations rename": f"""\
Usage: agent-tui conversations rename CONVERSATION TITLE
                                      [--output text|json]

Gives a conversation another title.
{_CONVERSATION}{SERVER}""",
    "tools": f"""\
Usage: agent-tui tools COMMAND

What agents may use, and what of it runs without asking.

  list                    the tools
  rules                   what was allowed, and where
  confirm RULE            let a suspended rule of an earlier version hold again
  forget RULE             ask again before what a rule allows

A rule that is kept on the screen allows the one call that was shown, a command
only in the folder that it was shown in. Wider ones are written into the config
file: [tools] allow = ["fetch_url(https://docs.python.org/*)"]
{SERVER}""",
    "tools list": f"""\
Usage: agent-tui tools list [--output text|json]

Lists the tools, those of MCP servers in the config file among them, and whether
they ask before they run. As json: also their parameters.
{SERVER}""",
    "tools rules": f"""\
Usage: agent-tui tools rules [--output text|json]

Lists what was allowed for always or in one conversation, without what the
config file allows. Rules of earlier versions were wider than what had been
shown: they are suspended, and allow nothing until they are confirmed.
{SERVER}""",
    "tools confirm": f"""\
Usage: agent-tui tools confirm RULE [--output text|json]

Lets a suspended rule of an earlier version allow again all that fits its
pattern, in every folder. RULE is the rule's id, the beginning of it that fits
no other rule, or its pattern.
{SERVER}""",
    "tools forget": f"""\
Usage: agent-tui tools forget RULE [--output text|json]

Takes back what was allowed. RULE is the rule's id, the beginning of
it that fits no other rule, or its pattern.
{SERVER}""",
}

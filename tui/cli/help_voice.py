"""The help pages of the commands about voice (``tui.cli.help_pages``)."""

from __future__ import annotations

from collections.abc import Mapping

VOICE_HELP: Mapping[str, str] = {
    "voice": """\
Usage: agent-tui voice [--room ROOM] [OPTIONS]
       agent-tui voice devices | setup

Talks with an agent in a voice room. What is missing is started on this
machine: a LiveKit server and the agent. Without a screen, --wav says a file, or
--text with --output takes lines from stdin, and what both sides say goes to
stdout.

  --room ROOM             the room (default: room of [voice], else demo)
  --agent NAME            the agent that a LiveKit server is to call
  --agent FILE.py         your own LiveKit agent, run without a server
  --text                  type instead of talking; no sound
  --muted                 begin with the microphone muted
  --headphones            no echo to cancel: the speaker is not heard
  --no-aec                never cancel the echo of the speaker
  --input NAME            the microphone (agent-tui voice devices lists them)
  --output-device NAME    the speaker
  --wav FILE              say this WAV file, wait for the answer, and end; - is
                          stdin
  --record FILE           write what is heard from the agent to a WAV file
  --transcript FILE       write what both sides said to a text file at the end
  --output FORMAT         text (default): both sides' lines as they are final
                          json: one object at the end
                          stream-json: one object per line and event
                          (user_transcript, agent_transcript, process_step,
                          metrics with e2e_seconds, end)

These name a LiveKit server. Without them [voice] of the config file and
LiveKit's own variables do (LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET,
LIVEKIT_TOKEN), else the server of this machine is used:

  --url URL               its address, like wss://host
  --token-file FILE       a file with a token for it
  --token TOKEN           the token itself, which other programs can see

Exit codes without a screen: 2 when something has to be set up first, 4 when no
agent came or the session broke off, 5 when no server was reached, 6 when it
refused the token.
""",
    "voice setup": """\
Usage: agent-tui voice setup [--yes] [--only PART]…
       agent-tui voice setup --remove [--yes]
       agent-tui voice setup [--hearing MODEL] [--voice NAME]

Says what voice needs and is not on this machine yet, how large it is and under
which licences; asks; and gets it. It can be interrupted and done again. What is
refused stays away: without the server there is a local session, without the
agent's libraries none.

  --yes, -y               do not ask
  --only PART             server, agent or models; may be given again
  --hearing MODEL         get this faster-whisper model, like base or small
  --voice NAME            get this Piper voice, like de_DE-thorsten-medium
  --remove                delete all that was got
""",
    "voice devices": """\
Usage: agent-tui voice devices [--output text|json]

Lists microphones and speakers, the ones in use marked. Their names are what
input and output of [voice] take, and the options of agent-tui voice.
""",
}

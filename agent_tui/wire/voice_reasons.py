"""Why a voice session ended or could not begin: a word for programs, a line and a way out for people.

The numbers are LiveKit's ``DisconnectReason``; the errors of ``connect`` are told apart by their text alone,
as livekit-server 1.13 and ``livekit.rtc`` 1.1 word them. Which of them a new try can mend was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agent_tui.model.inert import inert_line
from agent_tui.wire.voice import redact

MAX_SAID_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Reason:
    """``word`` names it (``LinkMoved.reason``), ``line`` says what happened, ``advice`` what a person can do.

    ``is_retryable``: a session that was connected is joined again by itself.
    """

    word: str
    line: str
    advice: str = ""
    is_retryable: bool = False

    @property
    def detail(self) -> str:
        """Return both sentences as one line."""
        return f"{self.line} {self.advice}".strip()


LEFT: Final = Reason("left", "You left the voice room.")
NO_INTERFACE: Final = Reason(
    "no_interface",
    "This machine has no network interface besides loopback, and WebRTC needs one.",
    "Use a local session, which needs no server.",
)
JOIN_TIMED_OUT: Final = Reason(
    "join_timed_out",
    "The LiveKit server did not let this terminal in within the time allowed.",
    "Check that its media ports can be reached, then try again.",
    is_retryable=True,
)
AGENT_ABSENT: Final = Reason(
    "agent_absent",
    "The agent did not join the room.",
    "Check that one is running for this server.",
)
AGENT_SILENT: Final = Reason(
    "agent_silent",
    "The agent joined the room but did not finish starting.",
    "Retry, or look into the agent's log.",
)
AGENT_LEFT: Final = Reason("agent_left", "The agent left the room.")
AGENT_ENDED: Final = Reason("agent_ended", "The agent's process ended.", "Look into its log.")
AGENT_NOT_STARTED: Final = Reason(
    "agent_not_started", "The agent did not connect.", "Look into its log, then try again."
)
NO_TOKEN: Final = Reason("no_token", "No token for the voice room could be obtained.")

_ASK_AGAIN = "Start the session again."
_DISCONNECTS: Final[dict[int, Reason]] = {
    0: Reason("lost", "The connection to the LiveKit server was lost.", "Check the network.", True),
    1: LEFT,
    2: Reason(
        "duplicate_identity",
        "Somebody joined the room under the same identity.",
        "Leave the other session, or join under another name.",
    ),
    3: Reason("server_shutdown", "The LiveKit server is shutting down.", "It is tried again.", True),
    4: Reason("removed", "You were removed from the room.", "Ask whoever runs it to let you in again."),
    5: Reason("room_deleted", "The room was deleted.", "Start the session again to make it anew."),
    6: Reason("state_mismatch", "Server and client no longer agree on the session.", _ASK_AGAIN),
    7: Reason("join_failed", "The LiveKit server could not complete the join.", "Try again."),
    8: Reason("migrated", "The room moved to another server.", _ASK_AGAIN),
    9: Reason("signal_closed", "The LiveKit server closed the connection.", "It is tried again.", True),
    10: Reason("room_closed", "The room was closed.", "Start the session again to make it anew."),
    11: Reason("user_unavailable", "The person who was called is not available.", "Try again later."),
    12: Reason("user_rejected", "The person who was called declined.", "Try again later."),
    13: Reason("sip_failed", "The telephone line failed.", "Check the SIP trunk."),
    14: Reason("timed_out", "The connection to the LiveKit server timed out.", "Check the network.", True),
    15: Reason(
        "media_failed", "Sound could not be exchanged with the server.", "Check UDP and firewall.", True
    ),
    16: Reason("agent_error", "The agent failed and ended the session.", "Look into its log."),
}

_UNREACHABLE = "Check the address, and that the server runs."
# The first whose words are all in the text counts; all are compared in lower case.
_CONNECT_ERRORS: Final[tuple[tuple[tuple[str, ...], Reason], ...]] = (
    (("invalid api key",), Reason("unknown_key", "The server does not know the API key.", "Check the key.")),
    (
        ("permissions denied",),
        Reason("no_permission", "The token does not allow joining this room.", "Ask for one that does."),
    ),
    (
        ("invalid authorization token",),
        Reason("bad_token", "The server cannot read the token.", "Check that all of it was copied."),
    ),
    (
        ("invalid token",),
        Reason("token_refused", "The server refused the token.", "Check the API secret, or get a new token."),
    ),
    (("401",), Reason("token_refused", "The server refused the token.", "Get a new token.")),
    (("403",), Reason("no_permission", "The server does not allow joining.", "Ask for another token.")),
    (
        ("exceeded its configured limit",),
        Reason("server_full", "The LiveKit server is at its limit.", "Try again later."),
    ),
    (
        ("requested room does not exist",),
        Reason("no_room", "There is no such room.", "This server does not make rooms by itself."),
    ),
    (("404",), Reason("no_livekit", "There is no LiveKit server at this address.", "Check the address.")),
    (
        ("handshake", "500"),
        Reason(
            "room_full",
            "The server did not let this terminal in; most often the room is full.",
            "Wait until somebody leaves, or look into the server's log.",
        ),
    ),
    (("connection refused",), Reason("refused", "No LiveKit server answers there.", _UNREACHABLE, True)),
    (
        ("failed to lookup address",),
        Reason("no_such_host", "The server's name is not known.", _UNREACHABLE, True),
    ),
    (
        ("name or service not known",),
        Reason("no_such_host", "The server's name is not known.", _UNREACHABLE, True),
    ),
    (
        ("certificate",),
        Reason("certificate", "The server's certificate cannot be trusted.", "Check the address and its CA."),
    ),
    (
        ("wait_pc_connection timed out",),
        Reason(
            "no_media",
            "The server answers, but sound cannot be exchanged with it.",
            "Check UDP, the firewall, and that there is a network interface besides loopback.",
            is_retryable=True,
        ),
    ),
    (
        ("url scheme not supported",),
        Reason("bad_url", "That is not the address of a LiveKit server.", "Use wss://…"),
    ),
    (
        ("relative url without a base",),
        Reason("bad_url", "That is not an address.", "It looks like wss://host."),
    ),
    (("503",), Reason("not_ready", "The LiveKit server is not ready.", "It is tried again.", True)),
    (("502",), Reason("not_ready", "The LiveKit server is not ready.", "It is tried again.", True)),
    (("500",), Reason("server_failed", "The LiveKit server failed.", "Look into its log.", True)),
    (("timed out",), Reason("timed_out", "The LiveKit server did not answer in time.", _UNREACHABLE, True)),
    (("timeout",), Reason("timed_out", "The LiveKit server did not answer in time.", _UNREACHABLE, True)),
    (("network is unreachable",), Reason("unreachable", "The network is unreachable.", _UNREACHABLE, True)),
    (("connection reset",), Reason("refused", "The server broke off the connection.", _UNREACHABLE, True)),
)
EXPIRED: Final = Reason("token_expired", "The token has expired.", "Get a new token.")


def of_disconnect(number: int) -> Reason:
    """Return why a room was left, by the number of its ``DisconnectReason``."""
    known = _DISCONNECTS.get(number)
    return known or Reason(
        "unknown", f"The session ended for a reason that is not known ({number}).", _ASK_AGAIN
    )


def of_connect_error(text: str, *, is_expired: bool = False) -> Reason:
    """Return why ``connect`` failed, by the text of its error, which may quote the whole token.

    ``is_expired``: the token's time is over, which the server says in the same words as a wrong secret.
    """
    lowered = redact(text).lower()
    for words, reason in _CONNECT_ERRORS:
        if all(word in lowered for word in words):
            return EXPIRED if is_expired and reason.word == "token_refused" else reason
    shown = inert_line(redact(text), MAX_SAID_CHARACTERS)
    return Reason("connect_failed", "The voice room could not be joined.", shown)

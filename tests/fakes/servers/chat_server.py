"""Servers of the chat protocol (protocols.md §2) on real sockets: an original one, and one with a log.

Written by hand from the protocol, not with our own encoder, so that the two can disagree.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.fakes.servers.http_server import FakeServer, Reply, Request, Responder, answers_json
from tests.fakes.servers.original_server import OriginalServer
from tests.fakes.servers.room_frames import Event as Event
from tests.fakes.servers.room_frames import frame as frame

QUESTION = "What is in the Makefile?"


def text(words: str, number: int = 0, kind: str = "text") -> Event:
    """Return a snapshot of a step: all of it so far."""
    return "process_step", {"step": {"id": f"step-{number}", "index": number, "type": kind, "content": words}}


def call(number: int = 1, name: str = "read_file", arguments: str = '{"path": "Makefile"}') -> Event:
    """Return a call as it is sent once, whole."""
    step = {"id": f"step-{number}", "index": 0, "type": "tool_call", "id_ref": f"call_{number}"}
    return "process_step", {"step": {**step, "name": name, "arguments": arguments}}


def result(
    number: int = 2, of: str = "step-1", content: str = "all:\n\techo", *, success: bool | None = True
) -> Event:
    """Return a result; without ``success`` it does not say."""
    step = {"id": f"step-{number}", "index": 1, "type": "tool_result", "id_ref": of, "name": "read_file"}
    said = {} if success is None else {"success": success}
    return "process_step", {"step": {**step, "content": content, **said}}


def done(message_id: str = "made-up", prompt: int = 10, completion: int = 5) -> Event:
    """Return the end of a whole answer; in the original its id means nothing."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return "done", {"message_id": message_id, "token_count": completion, "usage": usage}


def answer_events() -> list[Event]:
    """Return an answer with a thought, a call and words, as the original sends it."""
    thoughts = [text(words, 0, "thinking") for words in ("I ", "I look.")]
    words = [text(words, 3) for words in ("It ", "It has ", "It has one target: 目标")]
    return [*thoughts, call(), result(), *words, done()]


def user_message(id_: str, words: str, parent: str = "") -> dict[str, Any]:
    """Return a stored question."""
    content = json.dumps({"text": words, "attachments": []}, ensure_ascii=False)
    return {"id": id_, "role": "user", "content": content, "parent_id": parent, "token_count": 0}


class OriginalChatServer(OriginalServer):
    """A server of the original: a question's stream and nothing else. Every id is a conversation."""

    STREAM = r"/api/conversations/[^/]+/messages"

    def __init__(self, events: Sequence[Event] | None = None, **broken: Any) -> None:
        super().__init__(answer_events() if events is None else events, **broken)


class LogChatServer(FakeServer):
    """A server in our form, with one conversation, driven by the test through ``publish``.

    A question's stream begins behind what is in the log when it comes; with ``drop_after`` it breaks off
    behind that event id. What ``on`` names is answered that way instead; ``calm()`` ends that.
    """

    def __init__(self, id_: str = "c1", *, drop_after: int | None = None) -> None:
        super().__init__()
        self.id = id_
        self.log: list[tuple[int, str, dict[str, Any]]] = []
        self.messages: list[dict[str, Any]] = []
        self.as_of: int | None = None  # of the messages, where it is not the whole log
        self.fields: dict[str, Any] = {}
        self.drop_after = drop_after
        self.is_deleted = False
        self._more = asyncio.Event()

    @property
    def last_event_id(self) -> int:
        return self.log[-1][0] if self.log else 0

    def shown(self) -> dict[str, Any]:
        """Return the conversation as it is answered."""
        about = {"id": self.id, "title": "Make", "status": "idle", "enabled_tools": None}
        return {**about, "last_event_id": self.last_event_id, **self.fields}

    def publish(self, *events: Event) -> int:
        """Append events to the log and give them to everybody who reads it; return the last id."""
        for name, data in events:
            self.log.append((self.last_event_id + 1, name, data))
        self.wake()
        return self.last_event_id

    def wake(self) -> None:
        """Let the streams look again."""
        self._more.set()
        self._more = asyncio.Event()

    def calm(self) -> None:
        """Forget everything that ``on`` said."""
        self._routes.clear()

    def responder(self, request: Request) -> Responder:
        if (request.method, request.path) in self._routes:
            return super().responder(request)
        calls = self._calls(request)
        if not calls:
            return answers_json({"title": "No such thing"}, 404, kind="application/problem+json")
        if request.method not in calls:
            return answers_json({"title": "Not allowed"}, 405, {"Allow": ", ".join(calls)})
        return calls[request.method]()

    def _calls(self, request: Request) -> Mapping[str, Callable[[], Responder]]:
        match request.path.removeprefix("/api/").split("/"):
            case ["conversations"]:
                listed = {"conversations": [] if self.is_deleted else [self.shown()]}
                return {"GET": lambda: answers_json(listed), "POST": lambda: self._take(request, 201)}
            case ["conversations", self.id, *inner] if not self.is_deleted:
                return self._inner_calls(request, inner)
            case ["search"]:
                hit = {"conversation_id": self.id, "title": "Make", "snippet": "the \2Makefile\3"}
                return {"GET": lambda: answers_json({"hits": [hit, {"title": "no id"}, 7]})}
            case ["tools"]:
                tool = {"name": "calculator", "description": "Counts", "parameters": {"type": "object"}}
                tools = [{**tool, "permission": "read", "source": "built-in"}, {"name": ""}]
                return {"GET": lambda: answers_json({"tools": tools})}
            case ["tools", "rules"]:
                rule = {"id": 3, "tool": "run_command", "pattern": "run_command(make *)"}
                return {"GET": lambda: answers_json({"rules": [rule]})}
            case ["tools", "rules", "3"]:
                return {"DELETE": lambda: answers_json(None, 200)}
            case ["providers"]:
                return {"GET": lambda: answers_json({"providers": [{"id": "demo", "model": "demo"}]})}
            case ["providers", "demo", "models"]:
                return {"GET": lambda: answers_json({"models": [{"id": "demo"}]})}
            case _:
                return {}

    def _inner_calls(self, request: Request, inner: Sequence[str]) -> Mapping[str, Callable[[], Responder]]:
        match inner:
            case []:
                return {
                    "GET": lambda: answers_json(self.shown()),
                    "PATCH": lambda: self._take(request, 200),
                    "DELETE": lambda: answers_json(None),
                }
            case ["messages"]:
                as_of = self.last_event_id if self.as_of is None else self.as_of
                page = {"messages": self.messages, "next": None, "as_of": as_of}
                return {"GET": lambda: answers_json(page), "POST": lambda: self._ask(request)}
            case ["events"]:
                after = int(request.headers.get("last-event-id") or request.query.get("after", "0"))
                return {"GET": lambda: self._stream(after, follow="follow" in request.query)}
            case ["stop"] | ["compact"]:
                return {"POST": lambda: answers_json(self.shown(), 202)}
            case ["asks", _, _]:
                return {"POST": lambda: answers_json(None, 202)}
            case _:
                return {}

    def _take(self, request: Request, status: int) -> Responder:
        self.fields |= json.loads(request.body)
        return answers_json(self.shown(), status)

    def _ask(self, request: Request) -> Responder:
        if self.fields.get("status") == "running":
            return answers_json({"title": "An answer is under way"}, 409)
        if self.fields.get("archived"):
            return answers_json({"title": "The conversation is archived"}, 409)
        return self._stream(self.last_event_id, follow=False, drop_after=self.drop_after)

    def _stream(self, after: int, *, follow: bool, drop_after: int | None = None) -> Responder:
        async def respond(request: Request, reply: Reply) -> None:
            sent = after
            await reply.head(200, {"Content-Type": "text/event-stream"})
            await reply.send(b": hello\n\n")
            while True:
                more = self._more
                for id_, name, data in [entry for entry in self.log if entry[0] > sent]:
                    await reply.send(frame(name, data, id_))
                    sent = id_
                    if drop_after is not None and id_ >= drop_after:
                        return
                    if not follow and name in ("done", "error"):
                        await reply.end()
                        return
                await more.wait()

        return respond

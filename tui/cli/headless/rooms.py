"""``agent-tui rooms run``: a room to its end without a screen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from agent_tui.clients.log_stream import Item, decimal_id
from agent_tui.clients.rooms import RoomsClient
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, NotFound, Refused, StreamLost, TransportError
from agent_tui.model.inert import inert_line
from agent_tui.state.conversation import ConversationState
from agent_tui.wire.rooms import TERMINAL, decode
from tui.cli import output
from tui.cli.commands import connect
from tui.cli.commands.asking import MAX_NAME_CHARACTERS, check_tools, note_line
from tui.cli.commands.new_room import SUFFIX, NewRoom
from tui.cli.headless.formats import Ending, FormatName, Record, format_named
from tui.cli.headless.interrupts import (
    PATIENCE_SECONDS,
    Interrupts,
    LinkTelling,
    Stop,
    carried_out,
    take_until_ending,
    until_its_end,
)
from tui.cli.headless.telling import MAX_ERROR_CHARACTERS, Telling
from tui.request import Server, Source
from tui.screens.localised import localised
from tui.screens.words import say, text_if_any

DELETED = "stop"  # why a room pauses that is being deleted


def run(
    source: Source,
    wanted: str | NewRoom,
    form_name: FormatName,
    changes: Mapping[str, Any] | None = None,
    *,
    strict: bool = False,
) -> int:
    """Run the room that ``wanted`` names or describes to its end; return the exit code. ``changes`` are made
    to an existing room first; with ``strict`` a room in which the demo model speaks is not run. Raises
    ``ConfigError`` for wrong usage, before anything is written to stdout.
    """
    telling = Telling(format_named(form_name, has_names=True), ConversationState(ev.RoomInfo("")))
    state = telling.state
    embedded = not isinstance(source, Server)

    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, Record]:
        async with connect.rooms_client(server) as client:
            room_id = await _room_id(client, wanted, changes or {}, strict=strict, embedded=embedded)
            # What a room that is resumed has said; as text it is not written again.
            if form_name != "text" and not isinstance(wanted, NewRoom):
                await take_stored(client, room_id, telling)
            before = state.whole_text()
            ending = await Run(client, room_id, embedded, telling).until_its_end(interrupts)
            # It was completed before, or its words were lost on the way: they are the stored ones.
            if ending.reason in ("completed", "lost") and state.whole_text() == before:
                await take_stored(client, room_id, telling)
            return ending, await Record.of(client, "room", room_id, ending)

    def finish(ending: Ending, record: Record) -> None:
        telling.form.end(ending, state.whole_text(), record)

    return carried_out(source, errand, Record({"room": None}), finish)


async def take_stored(client: RoomsClient, room_id: str, telling: Telling) -> None:
    """Take what is stored of a room, as far as its server shows it."""
    with suppress(AgentTuiError):
        for message in (await client.messages(room_id))[0]:
            telling.take(ev.MessageStored(message))


async def _room_id(
    client: RoomsClient, wanted: str | NewRoom, changes: Mapping[str, Any], *, strict: bool, embedded: bool
) -> str:
    """Return the room's id, after making or changing it as wanted."""
    if isinstance(wanted, NewRoom):
        room = await connect.create(client, wanted, embedded=embedded)
        output.notice(localised(f"room {room.id} ({inert_line(room.name, MAX_NAME_CHARACTERS)})"))
        return room.id
    if tools := changes.get("enabled_tools"):
        await check_tools(client, tools)
    try:
        room_id = await connect.room_id(client, wanted)
    except NotFound as error:
        if not wanted.endswith(SUFFIX):
            raise
        raise NotFound(f"{error.title}, nor such a file", error.detail) from error
    if strict:
        connect.refuse_demo(agent.provider_id for agent in (await client.show(room_id)).agents)
    if changes:
        connect.tell_unpriced(await client.change(room_id, **changes))
    return room_id


@dataclass(slots=True)
class Run:
    """One run of a room, followed to its end; ``heard`` takes every event, too. With ``last_id``, the id of
    the event before it, nothing is started: another client began it.
    """

    client: RoomsClient
    room_id: str
    embedded: bool
    telling: Telling
    heard: Callable[[ev.Event], Awaitable[None]] | None = None
    last_id: int = 0
    stop: Stop = field(init=False)
    pause_reason: str = ""
    last_failure: str = ""  # of a turn, in one line
    link: LinkTelling = field(default_factory=LinkTelling)

    def __post_init__(self) -> None:
        self.stop = Stop("plain.pausing", "pause", "room", lambda: self.client.pause(self.room_id))

    async def until_its_end(self, interrupts: Interrupts) -> Ending:
        """Follow the run; the first signal pauses it and waits for that, for 10 s at most."""
        ending = await until_its_end(interrupts, self._follow(), self.stop)
        paused = self.stop.was_asked and ending.reason == "paused"
        return Ending("interrupted", ending.detail) if paused else ending

    async def _follow(self) -> Ending:
        ending = await (self._read_from(self.last_id) if self.last_id else self._run())
        if self.pause_reason == DELETED and not self.stop.was_asked:
            return await self._read_again(ending)  # until there is no such room
        while ending.reason == "paused" and await self._may_go_on():
            output.notice(say("plain.waits"))
            ending = await self._read_again(ending)
        return ending

    async def _run(self) -> Ending:
        """Run the room. A run that goes on although its stream is lost at the start is read from the log."""
        before = await self._look_up()
        try:
            frames = self.client.run_frames(self.room_id, give_up_seconds=PATIENCE_SECONDS)
            return await take_until_ending(frames, self._take)
        except StreamLost:
            now = await self._look_up() if not self.stop.under_way.is_set() else None
            if before is None or now is None or not now.last_event_id:
                raise
            if now.status != "running" and now.last_event_id <= before.last_event_id:
                raise
        return await self._read_from(before.last_event_id)

    async def _read_from(self, last_id: int) -> Ending:
        frames = self.client.event_frames(self.room_id, last_id, give_up_seconds=PATIENCE_SECONDS)
        return await take_until_ending(frames, self._take)

    async def _look_up(self) -> ev.RoomInfo | None:
        """Return the room, ``None`` if its server does not show it."""
        try:
            return await self.client.show(self.room_id)
        except AgentTuiError:
            return None

    async def _may_go_on(self) -> bool:
        """Return whether a pause may not be the end: the room runs again, or its server is restarting."""
        if self.stop.was_asked or not self.last_id:
            return False
        restarting = self.pause_reason == "handover" and not self.embedded
        try:
            room = await self.client.show(self.room_id)
        except TransportError:
            return restarting
        except AgentTuiError:
            return False
        return restarting or room.status == "running" or room.last_event_id > self.last_id

    async def _read_again(self, paused: Ending) -> Ending:
        """Read on after a pause; a room that does not resume within 10 s stays paused."""
        frames = self.client.event_frames(self.room_id, self.last_id)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS) as limit:

                async def take(item: Item) -> Ending | None:
                    if not isinstance(item, ev.LinkChanged):
                        limit.reschedule(None)
                    return await self._take(item)

                return await take_until_ending(frames, take)
        except NotFound:
            raise
        except (TimeoutError, TransportError, Refused):
            return paused

    async def _take(self, frame: Item) -> Ending | None:
        if isinstance(frame, ev.LinkChanged):
            self.link.take(frame)
            return None
        event = decode(frame.event, frame.data)
        self.stop.under_way.set()
        self.last_id = decimal_id(frame.id) or self.last_id
        self.telling.take(event, (frame.id, frame.event, frame.data))
        if self.heard is not None:
            await self.heard(event)
        self._tell(event)
        return self._ending(frame.event, event) if frame.event in TERMINAL else None

    def _tell(self, event: ev.Event) -> None:
        """Write to stderr how the run goes on: rounds, cut and failed turns, pauses."""
        match event:
            case ev.RoundStarted(number, most):
                output.notice(say("room.round" if most else "plain.round", round=number, most=most))
            case ev.TurnStarted(turn_id, trimmed=trimmed, sender_name=name) if trimmed:
                output.notice(note_line(ev.TurnNoted(turn_id, "trimmed", trimmed, agent_name=name)))
            case ev.TurnEnded(turn_id, interrupted="length"):
                output.notice(say("plain.cut.length", who=self.telling.speaker(turn_id)))
            case ev.TurnFailed(error, _, name):
                self.last_failure = inert_line(f"{name}: {error}", MAX_ERROR_CHARACTERS)
                who = inert_line(name, MAX_NAME_CHARACTERS)
                output.notice(f"{who}{say('between.detail')}{localised(error)}")
            case ev.RunPaused(_, _, reason):
                why = text_if_any(f"plain.paused.{reason}")
                quoted = say("between.beside", text=localised(reason)) if reason not in ("", "pause") else ""
                output.notice(say("room.paused") + quoted + (say("between.detail") + why if why else ""))
            case _:
                pass

    def _ending(self, name: str, event: ev.Event) -> Ending:
        match name, event:
            case "room_completed", _:
                return Ending("completed")
            case "room_paused", ev.RunPaused(_, _, "error"):
                return Ending("error", self.last_failure or "the room paused because turns failed")
            case "room_paused", ev.RunPaused(_, _, reason):
                self.pause_reason = reason
                return Ending("paused", reason or None)
            case "room_paused", _:
                return Ending("paused")
            case _, ev.RunFailed(content):
                return Ending("error", inert_line(content, MAX_ERROR_CHARACTERS))
            case _:
                return Ending("error", "the run failed")

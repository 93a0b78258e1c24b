"""The slash commands of a chat (``tui.live.commands`` lists them)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from agent_tui.model.errors import NotOffered
from agent_tui.model.events import ConversationInfo
from agent_tui.model.inert import inert_line
from tui.chat.asking import Asking
from tui.chat.first import NEW
from tui.chat.models import pick_model, use_model
from tui.chat.open_chat import OpenChat
from tui.forms.chat import chat_settings
from tui.lists.chats_texts import sign
from tui.lists.order import ago
from tui.live.changes import ChangesScreen
from tui.live.commands import Commands, NotDone, copy_newest
from tui.live.exporting import export
from tui.live.texts import short_folder
from tui.screens.choose import Candidate, Candidates, ChooseScreen
from tui.screens.words import say
from widgets.signs import DOT

if TYPE_CHECKING:
    from tui.cli.export.document import Exported

MAX_WORDS: Final = 300


class ChatCommands:
    """Runs the slash commands of one chat."""

    def __init__(self, chat: OpenChat, asking: Asking, open_chat: Callable[..., None]) -> None:
        """``open_chat`` shows another chat: see ``Places.open_chat``."""
        self._chat = chat
        self._asking = asking
        self._host = chat.host
        self._composer = chat.composer
        self._open_chat = open_chat
        self._commands = Commands(
            "chat",
            chat.composer,
            chat.host,
            {
                "model": self._set_model,
                "compact": self._compact,
                "title": self._set_title,
                "new": lambda _: self.begin_another(),
                "clear": lambda _: self.begin_another(),
                "chats": lambda _: self._choose_chat(),
                "rooms": lambda _: self._host.do("app.lists('rooms')"),
                "changes": lambda _: self.show_changes(),
                "settings": lambda _: self._host.do("open('settings')"),
                "copy": lambda _: self._copy(),
                "export": self._export,
                "stop": lambda _: self._stop(),
            },
        )

    @property
    def _info(self) -> ConversationInfo:
        return self._chat.state.conversation

    def does(self, text: str) -> bool:
        """Run the command in ``text``; return whether it is one."""
        return not self._composer.is_editing and self._commands.run(text)

    async def _compact(self, keep: str) -> None:
        """Summarise the chat, which the model gets from then on; ``keep`` says what it should contain."""
        if self._chat.link.is_agent:
            raise NotDone(say("chat.agent.settings"))
        if self._asking.is_busy:
            raise NotDone(say("chat.not_now"))
        if self._chat.new is not None:
            raise NotDone(say("chat.nothing_to_summarise"))
        _need(await self._chat.changed_by(self._ask_to_compact(keep)))

    async def _ask_to_compact(self, keep: str) -> ConversationInfo:
        client = await self._chat.client()
        return await client.compact(self._info.id, keep)

    def _stop(self) -> None:
        if self._chat.state.open_turn:
            self._asking.stop()
        else:
            self._tell("chat.nothing_runs")

    def _copy(self) -> None:
        answers = (turn for turn in reversed(self._chat.state.turns.values()) if turn.role != "user")
        newest = next(answers, None)
        copy_newest(self._chat.transcript, newest.text if newest is not None else "", self._host)

    def _tell(self, key: str, **fields: object) -> None:
        self._composer.tell(say(key, **fields))

    # --- settings --------------------------------------------------------------------------------------

    def open_settings(self) -> None:
        async def change(**changed: Any) -> None:
            await self._chat.take_answer(await self._chat.change(**changed))

        begins_at = self._chat.state.ledger.limit_reached(self._info)
        self._host.open(chat_settings(self._info, self._chat.link, change, begins_at=begins_at))

    async def _set_model(self, name: str) -> None:
        if name:
            _need(await use_model(self._chat, inert_line(name, MAX_WORDS)))
        else:
            pick_model(self._chat)

    async def _set_title(self, title: str) -> None:
        if not title:
            raise NotDone(say("command.needs", name="title", what=say("setting.title").upper()))
        _need(await self._chat.change_and_tell("", title=inert_line(title, MAX_WORDS)))

    def show_changes(self) -> None:
        chat = self._chat
        if chat.link.is_agent or chat.new is not None:
            self._tell("changes.none")
        else:
            self._host.open(ChangesScreen(chat, self._asked_for))

    def _asked_for(self, message_id: str) -> str:
        """Return the question of a message."""
        turns = self._chat.state.turns
        turn = self._chat.state.turn_of(message_id)
        asked = turns.get(turn.parent_id) if turn is not None else None
        return inert_line(asked.text, MAX_WORDS) if asked is not None else ""

    # --- other chats -----------------------------------------------------------------------------------

    def begin_another(self) -> None:
        """Open a new chat with this one's model and folder."""
        if self._chat.link.is_agent:
            self._tell("chat.agent.only")
            return
        info = self._info
        fields = {name: getattr(info, name) for name in ("model", "provider_id", "workspace")}
        self._composer.draft.keep()  # another new chat continues the same draft
        self._open_chat(NEW, fields={name: value for name, value in fields.items() if value})

    def _choose_chat(self) -> None:
        async def chats() -> Candidates:
            listed = await (await self._chat.client()).list_all()
            return [_candidate(chat) for chat in listed]

        def chosen(conversation_id: str | None) -> None:
            if conversation_id is not None and conversation_id != self._info.id:
                self._open_chat(conversation_id)

        title, now = say("command.chats.title"), self._info.id
        self._host.open(ChooseScreen(title, chats, now), chosen)

    async def _export(self, name: str) -> None:
        if not self._chat.state.turns:
            raise NotDone(say("command.export.nothing"))
        await export(name, self._info.title or say("chat.untitled"), self._read, self._composer)

    async def _read(self) -> Exported:
        # Lazy: loaded only for an export.
        from tui.cli.export.conversations import fetch, on_screen

        chat = self._chat
        if chat.link.is_agent:
            return on_screen(chat.state)
        try:
            return await fetch(await chat.client(), self._info.id)
        except NotOffered:
            return on_screen(chat.state)  # a server that only answers stores nothing


def _need(is_done: bool) -> None:
    """Raise ``NotDone`` for a change that failed, which was said already."""
    if not is_done:
        raise NotDone


def _candidate(chat: ConversationInfo) -> Candidate:
    """Return a chat of the list: its state and title, when it was used last, and its folder."""
    title = inert_line(chat.title, MAX_WORDS) or say("chat.untitled")
    detail = f" {DOT} ".join(filter(None, (ago(chat.updated_at), short_folder(chat.workspace))))
    return Candidate(chat.id, f"{sign(chat)} {title}", detail=detail)

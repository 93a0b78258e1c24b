"""Connects a model: asks for a provider's address and key, tests it, lets a model be chosen, and saves all
that.

A configured provider is changed the same way, or removed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent_tui.config.file import ProviderConfig
from agent_tui.config.keys import keyring_fault
from agent_tui.model.errors import AgentTuiError, ConfigError, NotFound, TransportError
from agent_tui.model.inert import inert_line
from tui.forms.form import MAX_COMPLAINT_CHARACTERS, Form
from tui.forms.kept_providers import WantedProvider, keep, key_of, remove
from tui.forms.provider_fields import ProviderFields
from tui.found import FoundModels
from tui.live.key_hints import PARTED, Hints, with_keys
from tui.live.key_hints import key_of as pressed_for
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.dialog import Dialog, ask_first
from tui.screens.localised import localised
from tui.screens.words import say, say_count
from widgets.signs import FAILED
from widgets.units import elapsed

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

MAX_NAME_CHARACTERS: Final = 60
LOOK_SECONDS: Final = 1.0  # between two looks at how long a test has been running
TEST: Final = "test"  # the group of workers that ask a provider


class SetupScreen(Dialog[str]):
    """The result is the name of the provider that was saved, or ``None``.

    ``client`` gives the client of the backend that tests the endpoint; ``config`` is the config file.
    ``fault_of_keyring``, called in a thread, says why there is no keyring: then a key is kept in the config
    file. Only a provider that answered is saved, except by the key for that, and then the screen says so.
    """

    CSS_PATH = ["../screens/dialog.tcss", "../screens/room_dialogs.tcss", "setup.tcss"]  # noqa: RUF012 - as Textual wants it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back without saving", id="setup.back"),
        Binding("f2", "save_untested", "Save without a test", id="setup.save_untested"),
        Binding("f8", "remove", "Remove the provider", id="setup.remove"),
    ]

    def __init__(
        self,
        config: Path,
        client: Callable[[], Awaitable[RoomsClient]],
        *,
        fault_of_keyring: Callable[[], str] = keyring_fault,
        found: FoundModels | None = None,
    ) -> None:
        """``found`` fills the form, and is tested at once."""
        super().__init__()
        self._config = config
        self._client = client
        self._fault_of_keyring = fault_of_keyring
        self._fields = ProviderFields(config, found)
        self._form = Form(self._fields)
        self._telling = Static("", id="telling", markup=False)
        self._is_at_once = found is not None
        self._asks_for: WantedProvider | None = None  # of whom was asked last
        self._testing = ""  # what is said of a test while it runs
        self._began = 0.0  # when it began, by ``now``
        self.now: Callable[[], float] = time.monotonic

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="setup"):
            yield Static(say("setup.title"), classes="title", markup=False)
            yield self._form
            yield self._telling
            yield Hints(say("setup.hint"))

    def on_mount(self) -> None:
        self._look_for_keyring()
        self.set_interval(LOOK_SECONDS, self.look)
        if self._is_at_once:
            self._test()

    @work(group="keyring")
    async def _look_for_keyring(self) -> None:
        """Show where a key will be kept, before one is typed."""
        fault = await asyncio.to_thread(self._fault_of_keyring)
        self._fields.keep_keys(has_keyring=not fault)

    # --- keys ------------------------------------------------------------------------------------------

    def on_provider_fields_changed(self) -> None:
        """Stop a test of something that the form no longer says, and remove what was said about it."""
        if self._fields.wanted() != self._asks_for:
            self._asks_for = None
            if not self._stop_test():
                self._tell("")
        self._form.complain({})
        self.query_one(Hints).tell(say("setup.hint.kept" if self._fields.kept else "setup.hint"))

    def action_save(self) -> None:
        if self._is_sound():
            self._test()

    def action_save_untested(self) -> None:
        """Save the form as it is, and say that it was not tested."""
        if self._is_sound():
            self._keep("", "saved.untested")

    def action_back(self) -> None:
        """Stop a test, else go back to the screen below."""
        if not self._stop_test():
            self._form.leave()

    def _is_sound(self) -> bool:
        """Show what is wrong with the form; return whether it is valid."""
        problems = dict(self._fields.problems())
        self._form.complain(problems)
        return not problems

    # --- testing ---------------------------------------------------------------------------------------

    @work(group=TEST, exclusive=True)
    async def _test(self) -> None:
        """Ask the provider for its models, and let the person choose one, or type the name of another."""
        self._asks_for = self._fields.wanted()
        self._tell_test(say("setup.testing", address=self._asks_for.address))
        try:
            found = await (await self._client()).backend.test_provider(**await self._test_arguments())
        except NotFound as error:  # many gateways have no list
            self._choose((), say("setup.models.unlisted", error=provider_error(error).rstrip(".")))
            return
        except AgentTuiError as error:
            self._tell(provider_error(error), is_wrong=True)
            return
        if found.models:
            self._choose(found.models, say_count("setup.models", len(found.models)))
        else:
            self._tell(with_keys(self, say("setup.models.none")), is_wrong=True)

    def _choose(self, offered: tuple[str, ...], title: str) -> None:
        self._tell("")
        kept, models = self._fields.kept, [Candidate(name, name) for name in offered]
        asking = ChooseScreen(title, models, kept.model if kept is not None else "", may_type=True)

        def chosen(model: str | None) -> None:
            if model:
                self._try_model(model)
            elif self._is_at_once:
                self.dismiss()

        self.app.push_screen(asking, chosen)

    @work(group=TEST, exclusive=True)
    async def _try_model(self, model: str) -> None:
        self._tell_test(say("setup.trying", model=model))
        try:
            found = await (await self._client()).backend.test_provider(
                **await self._test_arguments(), model=model
            )
        except AgentTuiError as error:
            self._tell(provider_error(error), is_wrong=True)
        else:
            self._keep(model, "saved.no_tools" if found.has_no_tools else "saved")

    def _tell_test(self, testing: str) -> None:
        self._tell(testing)
        self._testing, self._began = testing, self.now()

    def look(self) -> None:
        """Say for how long a test has been running."""
        if self._testing:
            seconds = elapsed(int(self.now() - self._began))
            self._telling.update(inert_line(f"{self._testing} {seconds}", MAX_COMPLAINT_CHARACTERS))

    def _stop_test(self) -> bool:
        """Stop asking a provider, and say so; return whether a test was running."""
        asking = [worker for worker in self.workers if worker.group == TEST and worker.is_running]
        for worker in asking:
            worker.cancel()
        if asking:
            self._tell(say("setup.stopped"))
        return bool(asking)

    async def _test_arguments(self) -> dict[str, str]:
        """Return the arguments of a test; raises ``ConfigError`` if the kept key cannot be read."""
        wanted, kept = self._fields.wanted(), self._fields.kept
        key = wanted.key or (await asyncio.to_thread(key_of, kept) if kept is not None else "")
        asked = {
            "kind": wanted.kind,
            "base_url": wanted.url(kept),
            "api_key": key,
            "api_key_env": "" if wanted.key else wanted.variable,
        }
        return {name: value for name, value in asked.items() if value}

    # --- saving ----------------------------------------------------------------------------------------

    @work(group="keep", exclusive=True)
    async def _keep(self, model: str, word: str) -> None:
        wanted, kept = self._fields.wanted(), self._fields.kept
        try:
            await asyncio.to_thread(keep, self._config, wanted, model, kept)
        except ConfigError as error:
            self._tell(localised(error), is_wrong=True)
            return
        notes = [say(f"setup.{word}", name=wanted.name, path=self._path())]
        if not (model or (kept is not None and kept.model)):
            press = pressed_for(self, "app.setup") or "agent-tui models setup"
            notes.append(say("setup.saved.no_model", press=press))
        self.app.notify(PARTED.join(notes), markup=False)
        self.dismiss(wanted.name)

    def action_remove(self) -> None:
        """Remove the shown provider from the config file, after a question."""
        if (kept := self._fields.kept) is None:
            self._tell(say("setup.remove.none"))
            return
        question = say("setup.remove.question", name=inert_line(kept.name, MAX_NAME_CHARACTERS))
        ask_first(self.app, question, partial(self._remove, kept))

    @work(group="keep", exclusive=True)
    async def _remove(self, kept: ProviderConfig) -> None:
        try:
            await asyncio.to_thread(remove, self._config, kept)
        except ConfigError as error:
            self._tell(localised(error), is_wrong=True)
            return
        self._fields.forget_removed()
        self.app.notify(say("setup.removed", name=kept.name, path=self._path()), markup=False)

    # --- the rest --------------------------------------------------------------------------------------

    def _path(self) -> str:
        return inert_line(str(self._config))

    def _tell(self, text: str | Content, *, is_wrong: bool = False) -> None:
        self._testing = ""
        words = text if isinstance(text, Content) else inert_line(text, MAX_COMPLAINT_CHARACTERS)
        self._telling.update(Content.assemble(f"{FAILED} " if is_wrong and text else "", words))
        self._telling.set_class(bool(text), "-shown")
        self._telling.set_class(is_wrong, "-wrong")


def provider_error(error: AgentTuiError) -> str:
    """Return the provider's error; that it came through our backend as a 502 is left out."""
    return localised(error.detail if isinstance(error, TransportError) and error.detail else error)

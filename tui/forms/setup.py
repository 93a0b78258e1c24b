"""Connects a model: asks for a provider's address and key, tests it, lets a model be chosen, and saves all
that.

A configured provider is changed the same way, or removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from agent_tui.config.keys import keyring_fault
from agent_tui.config.presets import is_for_words
from agent_tui.model.errors import AgentTuiError, ConfigError, NotFound, TransportError
from agent_tui.model.inert import inert_line
from tui.forms.fields import Line
from tui.forms.form import MAX_COMPLAINT_CHARACTERS, Form
from tui.forms.provider_fields import ProviderFields
from tui.forms.setup_kept import KeptProvider, keep, remove
from tui.found import FoundModels
from tui.live.key_hints import PARTED, Hints, key_of, with_keys
from tui.screens.dialog import Dialog, ask_first
from tui.screens.line_and_list import LineAndList
from tui.screens.localised import localised
from tui.screens.words import say, say_count
from widgets.signs import FAILED

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

MAX_SHOWN_MODELS: Final = 500
MAX_MODEL_CHARACTERS: Final = 200
MAX_NAME_CHARACTERS: Final = 60
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
        Binding("down", "move(1)", "Next model", show=False, id="setup.next"),
        Binding("up", "move(-1)", "Previous model", show=False, id="setup.previous"),
    ]

    def __init__(
        self,
        config: Path,
        client: Callable[[], Awaitable[RoomsClient]],
        *,
        fault_of_keyring: Callable[[], str] = keyring_fault,
        found: FoundModels | None = None,
    ) -> None:
        """``found`` fills the form, which is then shown only if it fails."""
        super().__init__()
        self._config = config
        self._client = client
        self._fault_of_keyring = fault_of_keyring
        self._fields = ProviderFields(config, found)
        self._form = Form(self._fields)
        line = Line("", placeholder=say("setup.filter"), id="filter")
        self._models = LineAndList(line, "", note_first=True)
        self._heading = Static("", id="heading", markup=False)
        self._choosing = Vertical(self._heading, self._models, id="choosing")
        self._telling = Static("", id="telling", markup=False)
        self._offered: tuple[str, ...] = ()
        self._fitting: list[str] = []
        self._is_at_once = found is not None
        self._no_keyring = ""  # why there is none

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="setup"):
            yield Static(say("setup.title"), classes="title", markup=False)
            yield self._form
            yield self._choosing
            yield self._telling
            yield Hints(say("setup.hint"))

    def on_mount(self) -> None:
        self._choosing.display = False
        self._look_for_keyring()
        if self._is_at_once:
            self._form.display = False
            self._hint()
            self._test()

    @work(group="keyring")
    async def _look_for_keyring(self) -> None:
        """Show where a key will be kept, before one is typed."""
        self._no_keyring = await asyncio.to_thread(self._fault_of_keyring)
        self._fields.keep_keys(has_keyring=not self._no_keyring)
        if said := self._keys_in_file():
            self._tell(said)

    def _keys_in_file(self) -> str:
        """Return where a key is kept without a keyring; "" if there is one, or no key."""
        if not self._no_keyring or not self._fields.usually_has_key:
            return ""
        return say("setup.key.no_keyring", why=localised(self._no_keyring), path=self._path())

    # --- what is typed ---------------------------------------------------------------------------------

    @on(ProviderFields.Chosen)
    def begin_anew(self) -> None:
        """Remove everything that was said about another provider."""
        self._form.complain({})
        self._tell(self._keys_in_file())
        self._hint()

    def on_provider_fields_rewritten(self) -> None:
        """Stop a test of something that the form no longer says."""
        if self._form.display:
            self._stop_test()

    def _hint(self) -> None:
        form = ("hint.kept" if self._fields.kept else "hint") if self._form.display else "testing.hint"
        self.query_one(Hints).tell(say(f"setup.{'models.hint' if self._choosing.display else form}"))

    def action_save(self) -> None:
        if self._is_sound():
            self._test()

    def action_save_untested(self) -> None:
        """Save the form as it is, and say that it was not tested."""
        if self._is_sound():
            self._keep("", "saved.untested")

    def action_back(self) -> None:
        """Stop a test; else go back from the models to the form, or to the screen below."""
        if self._stop_test():
            if not self._choosing.display:
                self._show_form(say("setup.stopped"))
        elif self._choosing.display and not self._is_at_once:
            self._show_form()
        else:
            self._form.leave()

    def _is_sound(self) -> bool:
        """Show what is wrong with the form; return whether it is valid."""
        problems = self._fields.problems()
        self._form.complain(problems)
        return not problems

    # --- testing ---------------------------------------------------------------------------------------

    @work(group=TEST, exclusive=True)
    async def _test(self) -> None:
        self._tell(say("setup.testing", address=self._fields.value("address")))
        try:
            found = await (await self._client()).backend.test_provider(**await self._asked())
        except NotFound as error:  # many gateways have no list
            self._choose((), say("setup.models.unlisted", error=told(error).rstrip(".?")))
            return
        except AgentTuiError as error:
            self._show_form(told(error), is_wrong=True)
            return
        if not found.models:
            self._show_form(with_keys(self, say("setup.models.none")), is_wrong=True)
            return
        self._choose(found.models, say_count("setup.models", len(found.models)))

    @work(group=TEST, exclusive=True)
    async def _try_model(self, model: str) -> None:
        self._tell(say("setup.trying", model=model))
        try:
            found = await (await self._client()).backend.test_provider(**await self._asked(), model=model)
        except AgentTuiError as error:
            self._tell(told(error), is_wrong=True)
        else:
            self._keep(model, "saved.no_tools" if found.has_no_tools else "saved")

    def _stop_test(self) -> bool:
        """Stop asking a provider, and say so; return whether a test was running."""
        asking = [worker for worker in self.workers if worker.group == TEST and worker.is_running]
        for worker in asking:
            worker.cancel()
        if asking:
            self._tell(say("setup.stopped"))
        return bool(asking)

    async def _asked(self) -> dict[str, str]:
        """Return the arguments of a test; raises ``ConfigError`` if the kept key cannot be read."""
        wanted, kept = self._fields.wanted(), self._fields.kept
        key = wanted.key or (await asyncio.to_thread(kept.key) if kept is not None else "")
        asked = {
            "kind": wanted.kind,
            "base_url": wanted.url(kept),
            "api_key": key,
            "api_key_env": "" if wanted.key else wanted.variable,
        }
        return {name: value for name, value in asked.items() if value}

    # --- choosing a model ------------------------------------------------------------------------------

    def _choose(self, offered: tuple[str, ...], heading: str) -> None:
        """Let the person choose one of the models ``offered``, or type the name of another."""
        self._offered = offered
        self._tell("")
        self._heading.update(inert_line(heading, MAX_COMPLAINT_CHARACTERS))
        self._models.line.placeholder = say("setup.filter" if offered else "setup.filter.unlisted")
        self._form.display = False
        self._choosing.display = True
        self._hint()
        self._models.line.value = ""
        self.narrow()
        self._models.line.focus()

    @on(Input.Changed, "#filter")
    def narrow(self) -> None:
        """Show the models that match; mark the configured one, else the first that may answer in words."""
        needle, kept = self._models.typed.casefold(), self._fields.kept
        self._fitting = [name for name in self._offered if needle in name.casefold()][:MAX_SHOWN_MODELS]
        marked = 0 if self._fitting and (needle or is_for_words(self._fitting[0])) else None
        if not needle and kept is not None and kept.model in self._fitting:
            marked = self._fitting.index(kept.model)
        self._models.show([Content(inert_line(name, MAX_MODEL_CHARACTERS)) for name in self._fitting], marked)

    def on_line_and_list_taken(self, event: LineAndList.Taken) -> None:
        if event.at is not None:
            self._try_model(self._fitting[event.at])
        elif typed := self._models.typed:
            self._try_model(typed)

    def action_move(self, rows: int) -> None:
        self._models.move(rows)

    def _show_form(self, told: str | Content = "", *, is_wrong: bool = False) -> None:
        """Show the form, and below it what is ``told``; the focus stays in it."""
        self._is_at_once = False
        if not self._form.display:
            self._choosing.display = False
            self._form.display = True
            self._hint()
            self._fields.focus_address()
        self._tell(told, is_wrong=is_wrong)

    # --- saving ----------------------------------------------------------------------------------------

    @work(group="keep", exclusive=True)
    async def _keep(self, model: str, said: str) -> None:
        wanted = self._fields.wanted(model)
        try:
            await asyncio.to_thread(keep, self._config, wanted, self._fields.kept)
        except ConfigError as error:
            self._tell(str(error), is_wrong=True)
            return
        kept = self._fields.kept
        told = [say(f"setup.{said}", name=wanted.name, path=self._path())]
        if not (model or (kept is not None and kept.model)):
            press = key_of(self, "app.setup") or "agent-tui models setup"
            lacks = "saved.no_model.openai" if wanted.kind == "openai" else "saved.no_model"
            told.append(say(f"setup.{lacks}", press=press))
        self.app.notify(PARTED.join(told), markup=False)
        self.dismiss(wanted.name)

    def action_remove(self) -> None:
        """Remove the shown provider from the config file, after a question."""
        kept = self._fields.kept
        if kept is None or self._choosing.display:
            self._tell(say("setup.remove.none"))
            return
        question = say("setup.remove.question", name=inert_line(kept.name, MAX_NAME_CHARACTERS))
        ask_first(self.app, question, partial(self._remove, kept))

    @work(group="keep", exclusive=True)
    async def _remove(self, kept: KeptProvider) -> None:
        try:
            await asyncio.to_thread(remove, self._config, kept)
        except ConfigError as error:
            self._tell(str(error), is_wrong=True)
            return
        self._fields.forget_removed()
        self.begin_anew()
        self._tell(say("setup.removed", name=kept.name, path=self._path()))

    # --- the rest --------------------------------------------------------------------------------------

    def _path(self) -> str:
        return inert_line(str(self._config))

    def _tell(self, text: str | Content, *, is_wrong: bool = False) -> None:
        words = text if isinstance(text, Content) else inert_line(text, MAX_COMPLAINT_CHARACTERS)
        self._telling.update(Content.assemble(f"{FAILED} " if is_wrong and text else "", words))
        self._telling.set_class(bool(text), "-shown")
        self._telling.set_class(is_wrong, "-wrong")


def told(error: AgentTuiError) -> str:
    """Return the provider's error; that it came through our backend as a 502 is left out."""
    return localised(error.detail if isinstance(error, TransportError) and error.detail else error)

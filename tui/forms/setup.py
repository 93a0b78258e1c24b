"""Sets up a provider of models: where it is, its key, does it answer, which model; then it is saved.

One that is there already is changed the same way, or removed.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.config.keys import keyring_fault
from agent_tui.config.presets import PRESETS, Preset, preset_of
from agent_tui.model.errors import AgentTuiError, ConfigError, NotFound
from agent_tui.model.inert import inert_line
from tui.forms.fields import Choice, Field, Line, own
from tui.forms.form import MAX_COMPLAINT_CHARACTERS, Form
from tui.forms.setup_kept import Kept, Wanted, configured, keep, limit_of, remove
from tui.forms.setup_words import models_found, told, word
from tui.found import FoundModels
from tui.live.key_hints import Hints, with_keys
from tui.screens.localised import localised
from tui.screens.question import QuestionScreen

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

OPENAI: Final = PRESETS["openai"]
MAX_SHOWN_MODELS: Final = 500
TEST: Final = "test"  # the group of what asks a provider
MAX_NAME_CHARACTERS: Final = 60
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class SetupScreen(Form[str]):
    """The result is the name of the provider that was saved, none where none was.

    ``client`` gives the client of the backend that tests the endpoint; ``config`` is the file it reads.
    ``fault_of_keyring`` says why there is none, in a thread: then a key is kept in the config file.
    Nothing is saved that did not answer, except by the key for that, and then the screen says so.
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
        ascii_only: bool = False,
        fault_of_keyring: Callable[[], str] = keyring_fault,
        found: FoundModels | None = None,
    ) -> None:
        """``found`` is what the form begins with."""
        super().__init__(ascii_only=ascii_only)
        self._config = config
        self._client = client
        self._kinds = [(preset.id, _called(preset)) for preset in PRESETS.values()]
        self._offered: tuple[str, ...] = ()
        self._fitting: list[str] = []
        self._prefilled = {"address": OPENAI.base_url, "variable": OPENAI.variable, "name": "openai"}
        self._configured: dict[str, Kept] = {}
        self._fault_of_keyring = fault_of_keyring
        self._no_keyring = ""  # why there is none
        self._kept: Kept | None = None  # the one that is changed; ``None``: a new one
        self._found = found

    def compose(self) -> ComposeResult:
        key = Line("", placeholder=self._signs(word("key.hint")), id="key")
        key.password = True
        with Vertical(classes="dialog", id="setup"):
            yield Static(word("title"), classes="title", markup=False)
            with VerticalScroll(id="form", can_focus=False):
                for name, options, chosen in (
                    ("which", [("", word("which.new"))], ""),
                    ("kind", self._kinds, "openai"),
                ):
                    choice = Choice(options, chosen, id=name, ascii_only=self._ascii_only)
                    yield Field(name, word(name), choice)
                yield Field("address", word("address"), Line(OPENAI.base_url, id="address"))
                yield Field("key", word("key"), key)
                variable = Line(
                    OPENAI.variable, placeholder=self._signs(word("variable.hint")), id="variable"
                )
                yield Field("variable", word("variable"), variable)
                yield Field("name", word("name"), Line(self._free_name("openai"), id="name"))
                yield Field("limit", word("limit"), Line("", placeholder=word("limit.hint"), id="limit"))
                timeout = Line("", placeholder=self._signs(word("timeout.hint")), id="timeout")
                yield Field("timeout", word("timeout"), timeout)
            with Vertical(id="choosing"):
                yield Static("", id="heading", markup=False)
                yield Line("", placeholder=word("filter"), id="filter")
                listed = OptionList(markup=False)
                listed.can_focus = False  # the keys go to the filter, and from there to this screen
                yield listed
            yield Static("", id="telling", markup=False)
            yield Hints(word("hint"), ascii_only=self._ascii_only)

    def on_mount(self) -> None:
        """Begin at the kind."""
        self._prefilled["name"] = self._value("name")
        self.query_one("#choosing").display = False
        self._offer_configured()
        self.query_one("#which" if self._configured and self._found is None else "#kind").focus()
        if (found := self._found) is not None:
            self.query_one("#kind", Choice).choose(found.preset.id)
            self._prefill()
            for name, text in (("address", found.address), ("variable", found.variable)):
                self._prefilled[name] = self.query_one(f"#{name}", Line).value = text
        self._look_for_keyring()

    @work(group="keyring")
    async def _look_for_keyring(self) -> None:
        """Say where a key would be kept, before one is typed."""
        self._no_keyring = await asyncio.to_thread(self._fault_of_keyring)
        if self._no_keyring:
            self._hint_at_key()
            self._tell(word("key.no_keyring", why=localised(self._no_keyring), path=self._path()))

    def _hint_at_key(self) -> None:
        kept = "key.kept" if self._kept and self._kept.has_key else ""
        hint = kept or ("key.hint.file" if self._no_keyring else "key.hint")
        self.query_one("#key", Line).placeholder = self._signs(word(hint))

    def _offer_configured(self) -> None:
        """Let a provider be chosen that is there already, where there is one."""
        self._configured = configured(self._config)
        self.query_one("#field-which").display = bool(self._configured)
        named = [(name, word("which.change", name=name)) for name in self._configured]
        self.query_one("#which", Choice).offer([("", word("which.new")), *named])

    # --- what is typed ---------------------------------------------------------------------------------

    @on(Choice.Changed)
    def chosen(self) -> None:
        """Show the provider that was chosen, or what the kind that was chosen usually has."""
        kept = self._configured.get(self._value("which"))
        if kept is self._kept:
            self._prefill()
        else:
            self._show_provider(kept)

    def _show_provider(self, kept: Kept | None) -> None:
        """Show what the config file has of a provider, but never its key; ``None``: an empty form."""
        self._kept = kept
        kind = self.query_one("#kind", Choice)
        kind.value = preset_of(kept.kind, kept.address).id if kept else OPENAI.id
        kind.offer(self._kinds)
        self._prefilled = self._usual()
        for name, text in self._filled.items():
            self.query_one(f"#{name}", Line).value = text
        self.query_one("#name", Line).disabled = kept is not None  # rooms know it by its name
        self._hint_at_key()
        self.complain({})
        self._tell("")
        self._hint()

    @property
    def _filled(self) -> dict[str, str]:
        """What stands in the lines before a person writes into them."""
        lines = {"key": "", "limit": "", "timeout": "", **self._prefilled}
        if self._kept is not None:
            kept = self._kept
            lines |= {"address": kept.address, "variable": kept.variable, "name": kept.name}
            lines["limit"] = str(kept.limit or "")
            lines["timeout"] = kept.timeout
        return lines

    @property
    def is_changed(self) -> bool:
        """Whether a person wrote something."""
        return any(self._value(name) != text for name, text in self._filled.items())

    def _hint(self) -> None:
        hint = "models.hint" if self.query_one("#choosing").display else "hint.kept" if self._kept else "hint"
        self.query_one(Hints).tell(word(hint))

    def _usual(self) -> dict[str, str]:
        """Return what a provider of the chosen kind usually has."""
        preset = PRESETS[self._value("kind")]
        return {
            "address": preset.base_url,
            "variable": preset.variable,
            "name": self._free_name(preset.id),
        }

    def _prefill(self) -> None:
        """Fill in what the kind usually has, where nobody has typed something else."""
        for name, text in self._usual().items():
            line = self.query_one(f"#{name}", Line)
            if line.value == self._prefilled[name] and not line.disabled:
                line.value = text
            self._prefilled[name] = text

    @on(Input.Changed, "#address")
    def guess_variable(self) -> None:
        """Leave the prefilled variable out where another server speaks like OpenAI: most want no key."""
        line, prefilled = self.query_one("#variable", Line), self._prefilled["variable"]
        if self._kept is None and self._value("kind") == "openai" and not self._value("key"):
            is_usual = self._value("address") == OPENAI.base_url
            self._prefilled["variable"] = OPENAI.variable if is_usual else ""
            if line.value == prefilled:
                line.value = self._prefilled["variable"]

    @on(Input.Changed, "#key")
    def prefer_key(self, event: Input.Changed) -> None:
        """Take a prefilled variable away once a key is typed."""
        line = self.query_one("#variable", Line)
        if event.value and line.value == self._prefilled["variable"]:
            line.value = ""

    @on(Input.Changed, "#address, #key, #variable")
    def forget_test(self) -> None:
        """Stop a test of something else than what stands here now."""
        self._stop_test()

    @on(Input.Changed, "#filter")
    def narrow(self, event: Input.Changed) -> None:
        """Show the models whose name has what was typed."""
        needle = event.value.strip().casefold()
        self._fitting = [name for name in self._offered if needle in name.casefold()][:MAX_SHOWN_MODELS]
        listed = self.query_one(OptionList)
        listed.set_options([Option(inert_line(name, 200)) for name in self._fitting])
        if self._fitting:
            listed.highlighted = 0

    def action_save(self) -> None:
        """Go on: test what the form says, or the model that was chosen."""
        if not self.query_one("#choosing").display:
            if self._is_sound():
                self._test()
        elif self._fitting:
            self._try_model(self._fitting[self.query_one(OptionList).highlighted or 0])
        elif typed := self._value("filter"):  # one that is not listed
            self._try_model(typed)

    def action_save_untested(self) -> None:
        """Save the form as it is, and say that it was not tested."""
        if self._is_sound():
            self._keep("", "saved.untested")

    def action_move(self, rows: int) -> None:
        """Move through the models."""
        listed = self.query_one(OptionList)
        if self._fitting:
            listed.highlighted = min(max((listed.highlighted or 0) + rows, 0), len(self._fitting) - 1)

    def action_back(self) -> None:
        """Stop a test; else go back from the models to the form, from the form to where one was."""
        if self._stop_test():
            return
        if self.query_one("#choosing").display:
            self._show_form()
        else:
            super().action_back()

    def _is_sound(self) -> bool:
        """Say what is wrong with the form, and whether nothing is."""
        name, variable = self._value("name"), self._value("variable")
        complaints = {}
        if not self._value("address").startswith(("http://", "https://")):
            complaints["address"] = word("wrong_address")
        if variable and not _VARIABLE.fullmatch(variable):
            complaints["variable"] = word("wrong_variable")
        elif variable and self._value("key"):
            complaints["variable"] = word("two_keys")
        if self._seconds is None:
            complaints["timeout"] = word("wrong_timeout")
        if limit_of(self._value("limit")) is None:
            complaints["limit"] = word("wrong_limit")
        if self._kept is not None:
            pass  # it has its name
        elif not _NAME.fullmatch(name):
            complaints["name"] = word("no_name")
        elif name in self._taken():
            complaints["name"] = word("taken", name=name)
        self.complain(complaints)
        return not complaints

    @property
    def _seconds(self) -> float | None:
        """The timeout as it is typed, 0 for none, ``None`` for what cannot be one."""
        try:
            seconds = float(self._value("timeout") or 0)
        except ValueError:
            return None
        if not math.isfinite(seconds) or seconds < 0:
            return None
        return int(seconds) if seconds.is_integer() else seconds

    # --- testing ---------------------------------------------------------------------------------------

    @work(group=TEST, exclusive=True)
    async def _test(self) -> None:
        self._tell(word("testing", address=self._value("address")))
        try:
            found = await (await self._client()).backend.test_provider(**await self._asked())
        except NotFound as error:  # many gateways have no list
            self._choose((), word("models.unlisted", error=told(error).rstrip(".?")))
            return
        except AgentTuiError as error:
            self._tell(told(error), is_wrong=True)
            return
        if not found.models:
            self._tell(with_keys(self, word("models.none")), is_wrong=True)
            return
        self._choose(found.models, models_found(len(found.models)))

    def _choose(self, offered: tuple[str, ...], heading: str) -> None:
        """Let a person choose a model of those ``offered``, or type the name of one."""
        self._offered = offered
        self._tell("")
        self.query_one("#heading", Static).update(self._signs(inert_line(heading, MAX_COMPLAINT_CHARACTERS)))
        self.query_one("#filter", Line).placeholder = word("filter" if offered else "filter.unlisted")
        self.query_one("#form").display = False
        self.query_one("#choosing").display = True
        self._hint()
        line = self.query_one("#filter", Line)
        line.value = ""
        self.narrow(Input.Changed(line, ""))
        if self._kept is not None and self._kept.model in self._fitting:
            self.query_one(OptionList).highlighted = self._fitting.index(self._kept.model)
        line.focus()

    @work(group=TEST, exclusive=True)
    async def _try_model(self, model: str) -> None:
        self._tell(word("trying", model=model))
        try:
            found = await (await self._client()).backend.test_provider(**await self._asked(), model=model)
        except AgentTuiError as error:
            self._tell(told(error), is_wrong=True)
        else:
            self._keep(model, "saved.no_tools" if found.has_no_tools else "saved")

    def _stop_test(self) -> bool:
        """Stop asking a provider, and say so; return whether one was asked."""
        asking = [worker for worker in self.workers if worker.group == TEST and worker.is_running]
        for worker in asking:
            worker.cancel()
        if asking:
            self._tell(word("stopped"))
        return bool(asking)

    def _wanted(self, model: str = "") -> Wanted:
        value = self._value
        limit = limit_of(value("limit")) or 0
        return Wanted(
            value("name"),
            PRESETS[value("kind")].kind,
            value("address"),
            value("variable"),
            value("key"),
            model,
            limit=limit,
            timeout=self._seconds or None,
            in_file=bool(self._no_keyring),
        )

    async def _asked(self) -> dict[str, str]:
        """Return what a test is told; raises ``ConfigError`` where the kept key cannot be had."""
        wanted, kept = self._wanted(), self._kept
        key = wanted.key or (await asyncio.to_thread(kept.key) if kept is not None else "")
        asked = {
            "kind": wanted.kind,
            "base_url": wanted.url(kept),
            "api_key": key,
            "api_key_env": "" if wanted.key else wanted.variable,
        }
        return {name: value for name, value in asked.items() if value}

    # --- saving ----------------------------------------------------------------------------------------

    @work(group="keep", exclusive=True)
    async def _keep(self, model: str, said: str) -> None:
        wanted = self._wanted(model)
        try:
            await asyncio.to_thread(keep, self._config, wanted, self._kept)
        except ConfigError as error:
            self._tell(str(error), is_wrong=True)
            return
        self.app.notify(word(said, name=wanted.name, path=self._path()), markup=False)
        self.dismiss(wanted.name)

    def action_remove(self) -> None:
        """Take the provider that is shown out of the config file, if that is meant."""
        kept = self._kept
        if kept is None or self.query_one("#choosing").display:
            self._tell(word("remove.none"))
            return

        def answered(is_yes: bool | None) -> None:
            if is_yes:
                self._remove(kept)

        question = word("remove.question", name=inert_line(kept.name, MAX_NAME_CHARACTERS))
        self.app.push_screen(QuestionScreen(question, ascii_only=self._ascii_only), answered)

    @work(group="keep", exclusive=True)
    async def _remove(self, kept: Kept) -> None:
        try:
            await asyncio.to_thread(remove, self._config, kept)
        except ConfigError as error:
            self._tell(str(error), is_wrong=True)
            return
        which = self.query_one("#which", Choice)
        which.value = ""
        self._offer_configured()
        self._show_provider(None)
        self._tell(word("removed", name=kept.name, path=self._path()))
        self.query_one("#which" if self._configured else "#kind").focus()

    def _path(self) -> str:
        return inert_line(str(self._config))

    def _taken(self) -> frozenset[str]:
        return frozenset((*configured(self._config), DEMO_PROVIDER))

    def _free_name(self, kind: str) -> str:
        taken = self._taken()
        tries = (kind, *(f"{kind}-{number}" for number in range(2, 1000)))
        return next(name for name in tries if name not in taken)

    # --- the rest --------------------------------------------------------------------------------------

    def _value(self, name: str) -> str:
        inner = self.query_one(f"#{name}")
        return inner.value.strip() if isinstance(inner, Line | Choice) else ""

    def _show_form(self) -> None:
        self.query_one("#choosing").display = False
        self.query_one("#form").display = True
        self._hint()
        self._tell("")
        self.query_one("#address").focus()

    def _signs(self, text: str) -> str:
        return own(text, ascii_only=self._ascii_only)

    def _tell(self, text: str, *, is_wrong: bool = False) -> None:
        shown = self._wrong(text) if is_wrong else self._signs(inert_line(text, MAX_COMPLAINT_CHARACTERS))
        for telling in self.query("#telling").results(Static):  # none once the form was left
            telling.update(shown)
            telling.set_class(bool(text), "-shown")
            telling.set_class(is_wrong, "-wrong")


def _called(preset: Preset) -> str:
    """Return what a preset is called: by its own name, but for those that can be somewhere else."""
    if preset.id in ("openai", "ollama"):
        return word(f"kind.{preset.id}")
    return word("kind.here", name=preset.label) if preset.port else preset.label

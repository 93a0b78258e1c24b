"""The form of a new room: who speaks, what runs them, how far they may go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events
from textual.events import Paste
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from agent_tui.clients.records import ToolServer
from agent_tui.config.agent_templates import language_of, templates
from agent_tui.model.errors import NotOffered, Refused
from tests.thorough import of_many
from tests.tui.lists.rooms_listed import Listed, listed, room
from tui.forms.fields import Choice, Line
from tui.forms.form import Form
from tui.forms.model_fields import ModelFields
from tui.forms.new_room import NewRoomScreen
from tui.forms.new_room_fields import AGENTS, SECTIONS, SETTINGS, quick_room
from tui.lists.rooms import RoomsScreen
from tui.room.screen import RoomScreen

pytestmark = pytest.mark.slow

TASK = "Should sessions live in Redis?"


@pytest.fixture(autouse=True)
def _english(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


class NewRoom:
    """What a test sees of the form and does to it."""

    def __init__(self, seen: Listed) -> None:
        self.seen = seen

    @property
    def form(self) -> NewRoomScreen:
        screen = self.seen.app.screen
        assert isinstance(screen, NewRoomScreen)
        return screen

    async def go_to(self, name: str) -> None:
        """Give the field the focus."""
        self.form.set_focus(self.form.query_one(f"#{name}"))
        await self.seen.pilot.pause()

    async def fill(self, **texts: str) -> None:
        """Paste into fields, over what stood there."""
        for name, text in texts.items():
            await self.go_to(name)
            widget = self.form.focused
            if isinstance(widget, TextArea):
                widget.text = ""
            elif isinstance(widget, Input):
                widget.value = ""
            self.seen.app.post_message(events.Paste(text))
            await self.seen.pilot.pause()

    async def press(self, *keys: str) -> str:
        return await self.seen.press(*keys)

    async def leave_all_agents(self) -> None:
        """Take the marks away that agents have at first."""
        await self.go_to("agents")
        await self.press(*["space", "down"] * len(AGENTS))

    def problem(self, name: str) -> str:
        """Return what is said below a field; "" is the line below all of them."""
        return str(self._line(name).content)

    def _line(self, name: str) -> Static:
        if not name:
            return self.form.query_one("#problem", Static)
        return self.form.query_one(Form).field(name).query_one(".complaint", Static)

    @property
    def problems(self) -> list[str]:
        said = [self.problem(name) for name in (*self.form.query_one(Form).values(), "")]
        return [text for text in said if text]


@asynccontextmanager
async def new_room(folder: Path, size: tuple[int, int] = (120, 40)) -> AsyncGenerator[NewRoom, None]:
    async with listed(folder, room(1), room(2), size=size) as seen:
        await seen.press("n", "ctrl+o")
        yield NewRoom(seen)


async def test_agents_come_from_templates_and_are_taken_and_left_with_the_space_bar(tmp_path: Path) -> None:
    first, second, third = (one for one in templates() if one.id in AGENTS)
    other = next(one for one in templates() if one.id not in AGENTS)
    async with new_room(tmp_path) as page:
        await page.fill(task=TASK)
        await page.go_to("agents")
        text = await page.press("down", "space", "down", "space", "space", "down", "space")
        assert f"☑ {first.names['en']}" in text
        assert f"☐ {second.names['en']}" in text
        assert f"☑ {third.names['en']}" in text
        assert f"☑ {other.names['en']}" in text
        await page.press("ctrl+n")
        (made,) = page.seen.client.made
    assert [agent["name"] for agent in made["agents"]] == [one.names["en"] for one in (first, third, other)]
    assert made["agents"][0]["system_prompt"] == first.prompts["en"]


@pytest.mark.parametrize(("task", "language"), [("会话应该放在哪里?", "zh"), ("Где хранить сессии?", "ru")])
async def test_agents_speak_the_language_of_the_task(tmp_path: Path, task: str, language: str) -> None:
    first = next(one for one in templates() if one.id in AGENTS)
    async with new_room(tmp_path) as page:
        await page.fill(task=task)
        assert f"☑ {first.names[language]}" in await page.seen.text()
        await page.press("ctrl+n")
        assert page.seen.client.made[0]["agents"][0]["system_prompt"] == first.prompts[language]


async def test_an_agent_is_written_in_the_form_of_agents_and_left_again(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.leave_all_agents()
        await page.fill(task=TASK)
        await page.go_to("agents")
        await page.press("a", *"Mika", "ctrl+s")
        assert "☑ Mika" in await page.press("a", *"Ada", "ctrl+s")
        assert "☑ Ada" not in await page.press("end", "space")
        await page.press("ctrl+n")
        assert page.seen.client.made[0]["agents"] == [{"name": "Mika"}]


async def test_what_the_server_refuses_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.fill(task=TASK)
        page.seen.client.refuse = Refused("the disk is full")
        await page.press("ctrl+n")
        assert page.problems == ["✗ the disk is full"]
        page.seen.client.refuse = None
        await page.press("ctrl+n")
        assert page.seen.client.made[0]["task"] == TASK


async def test_the_provider_is_chosen_and_its_models_are_offered_for_every_agent(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.fill(task=TASK)
        await page.go_to("provider")
        assert "‹ Local ›" in await page.press("right", "right")
        await page.press("tab", "down", *"sm")
        await page.press("enter")
        await page.press("ctrl+n")
        agents = page.seen.client.made[0]["agents"]
    assert [(agent["provider_id"], agent["model"]) for agent in agents] == [("local", "small")] * len(AGENTS)


async def test_a_long_choice_is_wrapped_in_a_narrow_terminal_and_its_signs_can_be_clicked(
    tmp_path: Path,
) -> None:
    async with new_room(tmp_path, (40, 24)) as page:
        await page.go_to("view")
        text = await page.seen.until("timeline if")
        assert "else panes ›" in " ".join(text.split())
        choice = page.form.query_one("#view", Choice)
        rows = [choice.render_line(y).text for y in range(choice.size.height)]
        await page.seen.pilot.click(choice, offset=(rows[-1].index("›"), len(rows) - 1))
        await page.seen.until("‹ timeline ›")


async def test_a_provider_that_cannot_be_asked_says_why_and_any_model_can_be_typed(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.fill(task=TASK)
        await page.go_to("provider")
        await page.press("right", "right")
        page.seen.client.no_models = Refused("the provider refused the key [red]")
        await page.go_to("model")
        assert "the provider refused the key [red]" in await page.press("down")
        await page.press(*"mine", "enter")
        await page.press("ctrl+n")
        assert page.seen.client.made[0]["agents"][0]["model"] == "mine"


async def test_mode_rounds_budget_and_what_a_failure_does_are_sent(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.fill(task=TASK, name="Sessions")
        await page.go_to("execution_mode")
        await page.press("space")
        await page.fill(max_rounds="5", max_tokens="50,000", max_cost="$2,50", answer_tokens="4,000")
        await page.go_to("on_error")
        await page.press("space")
        await page.go_to("on_resume")
        await page.press("space", "ctrl+n")
        (made,) = page.seen.client.made
        assert made.pop("agents")
        assert made == {
            "task": TASK,
            "name": "Sessions",
            "execution_mode": "sequential",
            "max_rounds": 5,
            "max_tokens": 50_000,
            "max_cost": 2.5,
            "answer_tokens": 4000,
            "on_error": "pause",
            "on_resume": "again",
            "synthesis": True,
        }


async def test_a_room_without_agents_is_not_made_and_the_form_says_why(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.leave_all_agents()
        await page.fill(task=TASK)
        await page.press("ctrl+n")
        assert "a room needs an agent: mark one, or add your own" in page.seen.now
        assert page.seen.client.made == []


BAD = (
    ("task", "", "a room needs a task"),
    ("max_rounds", "0", "enter a whole number from 1 to 1,000"),
    ("max_rounds", "many", "enter a whole number from 1 to 1,000"),
    ("max_rounds", "", "enter a whole number from 1 to 1,000"),
    ("max_tokens", "-5", "enter a whole number, such as 50,000"),
    ("max_tokens", "1e6", "enter a whole number, such as 50,000"),
    ("max_cost", "cheap", "enter an amount, such as 2.50"),
    ("max_cost", "nan", "enter an amount, such as 2.50"),
    ("workspace", "work", "enter a full path"),
)


async def test_a_bad_value_is_one_clear_line_below_its_field_which_has_the_focus(tmp_path: Path) -> None:
    async with new_room(tmp_path, (80, 24)) as page:
        await page.fill(task=TASK)
        for name, text, words in BAD:
            await page.fill(**{name: text})
            await page.seen.pilot.press("ctrl+n")
            await page.seen.pilot.pause()
            assert len(page.problems) == 1
            assert words in page.problem(name)
            field = page.form.query_one(Form).field(name)
            assert field.inner.has_focus
            below = field.query_one(".complaint")
            assert page.form.query_one("#form").region.contains_region(below.region)
            await page.fill(**{name: {"task": TASK, "workspace": ""}.get(name, "2")})
        assert page.seen.client.made == []
        await page.press("ctrl+n")
        assert len(page.seen.client.made) == 1


async def test_what_was_wrong_is_no_longer_said_once_it_is_changed(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.press("ctrl+n")
        assert "a room needs a task" in page.problem("task")
        await page.press("W")
        assert page.problems == []
        await page.fill(max_rounds="0")
        await page.press("ctrl+n")
        assert page.problem("max_rounds")
        await page.press("tab")
        assert page.problem("max_rounds")  # nothing was changed
        await page.press("shift+tab", "1")
        assert page.problems == []


async def test_several_lines_that_are_pasted_into_one_are_one_line(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        line = page.form.query_one("#name", Input)
        line.focus()
        page.seen.app.post_message(events.Paste("Be brief.\r  Be kind.\r\n\nBe right.\n"))
        await page.seen.text()
        assert line.value == "Be brief. Be kind. Be right."
        await page.press("home", "X", "end", "Y")
        page.seen.app.post_message(events.Paste("\n\x1b[31m!"))
        await page.seen.text()
        assert line.value == "XBe brief. Be kind. Be right.Y␛[31m!"


async def test_a_name_is_no_longer_than_the_server_takes(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.fill(task=TASK)
        page.seen.app.screen.query_one("#name", Line).focus()
        page.seen.app.post_message(Paste("n" * 300))
        await page.seen.text()
        await page.press("ctrl+n")
        assert page.seen.client.made[0]["name"] == "n" * 200


async def test_created_is_listed_started_is_opened_and_escape_makes_nothing(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.fill(task="One?")
        await page.press("ctrl+n")
        assert isinstance(page.seen.app.screen, RoomsScreen)
        assert page.seen.cursor == "made1"
        await page.press("n", "ctrl+o")
        await page.fill(task="Two?")
        await page.press("escape", "y")
        assert [made["task"] for made in page.seen.client.made] == ["One?"]
        await page.press("n", "ctrl+o")
        await page.fill(task="Three?")
        await page.press("ctrl+g")
        assert isinstance(page.seen.app.screen, RoomScreen)
        assert [made["task"] for made in page.seen.client.made] == ["One?", "Three?"]


@pytest.mark.parametrize("size", of_many(((120, 40), (80, 24), (50, 14)), ((50, 14),)))
async def test_every_field_that_has_the_focus_is_in_sight(tmp_path: Path, size: tuple[int, int]) -> None:
    async with new_room(tmp_path, size) as page:
        met: list[Widget] = []
        while (focused := page.form.focused) is not None and focused not in met:
            met.append(focused)
            assert page.form.query_one("#form").region.overlaps(focused.region), focused
            await page.seen.pilot.press("tab")
            await page.seen.pilot.pause()
        assert len(met) >= 13


async def test_an_arrow_that_a_field_does_not_use_leads_to_the_next_one_and_scrolls_none_away(
    tmp_path: Path,
) -> None:
    async with new_room(tmp_path, (50, 14)) as page:
        await page.go_to("name")
        await page.press("ctrl+o", *["down"] * 4)
        assert page.form.focused is page.form.query_one("#view")
        await page.press("up")
        assert page.form.focused is page.form.query_one("#synthesis")
        assert page.form.query_one("#form").region.overlaps(page.form.focused.region)


async def test_tools_are_marked_and_have_a_folder(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.fill(task=TASK, workspace="/srv/work")
        page.form.query_one("#tools").focus()
        text = await page.press("down", "space")
        assert "☑ calculator" in text
        assert "☐ clock" in text
        await page.press("ctrl+n")
        (made,) = page.seen.client.made
    assert (made["enabled_tools"], made["workspace"]) == (["calculator"], "/srv/work")


async def test_an_mcp_server_that_failed_stands_below_the_tools_with_the_reason(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), size=(120, 60)) as seen:
        seen.client.servers = [ToolServer("slow", "failed", problem="it did not start within 15 s")]
        text = await seen.press("n", "ctrl+o")
        assert "✗ MCP server slow: it did not start within 15 s" in text


async def test_a_server_without_tools_says_so_and_makes_rooms_all_the_same(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), size=(120, 50)) as seen:
        seen.client.no_tools = NotOffered("this server has no tools")
        text = await seen.press("n", "ctrl+o", *"Why?")
        assert "to mark): this server has no tools" in text
        await seen.press("ctrl+n")
        assert [made["task"] for made in seen.client.made] == ["Why?"]


async def test_what_was_chosen_before_the_providers_came_stays(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.fill(model="typed early")
        page.form.query_one(ModelFields).look_for_providers()
        await page.seen.text()
        assert page.form.query_one(Form).values()["model"] == "typed early"
        assert page.form.query_one(Form).values()["provider"] == ""


async def test_a_letter_where_nothing_is_written_does_not_end_the_program(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.fill(task=TASK)
        await page.go_to("execution_mode")
        await page.press("q")
        assert page.seen.app.return_value is None
        assert page.form.query_one(Form).values()["task"] == TASK


async def test_esc_asks_only_where_something_was_written_or_chosen(tmp_path: Path) -> None:
    async with new_room(tmp_path) as page:
        await page.press("escape")
        assert isinstance(page.seen.app.screen, RoomsScreen)
        for field, key in (("task", "x"), ("agents", "space")):
            await page.press("n", "ctrl+o")
            await page.go_to(field)
            assert "Discard changes?" in await page.press(key, "escape")
            await page.press("n", "ctrl+o")
            assert page.form.query_one(Form).is_changed
            await page.press("escape", "y")
            assert isinstance(page.seen.app.screen, RoomsScreen)
        assert page.seen.client.made == []


async def test_the_keys_that_are_named_are_those_of_now(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), size=(120, 40), keys={"new.create": "f9"}) as seen:
        assert "f9 create · ctrl+g create and start" in await seen.press("n", "ctrl+o")


# --- a task and enter --------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [TASK, "会话应该放在哪里?", "Где хранить сессии?"])
async def test_a_room_is_a_task_and_enter(tmp_path: Path, task: str) -> None:
    known = {template.id: template for template in templates()}
    async with listed(tmp_path, room(1), room(2), size=(80, 24)) as seen:
        text = await seen.press("n")
        assert "rounds" not in text
        assert "Critic, Engineer, Writer" in text
        assert "enter create and start · ctrl+o more options" in text
        seen.app.post_message(events.Paste(task))
        names = [known[one].names[language_of(task)] for one in AGENTS]
        await seen.until(", ".join(names))
        await seen.press("enter")
        assert isinstance(seen.app.screen, RoomScreen)
        (made,) = seen.client.made
    assert made["task"] == task
    assert [agent["name"] for agent in made["agents"]] == names
    assert made["execution_mode"] == "parallel"


async def test_what_is_unfolded_makes_the_same_room_until_it_is_changed(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), size=(120, 40)) as seen:
        text = await seen.press("n", *"Why", "ctrl+o")
        assert "rounds" in text
        assert "Why" in text
        await seen.press("ctrl+n")
        (made,) = seen.client.made
        assert made == quick_room("Why") | {"max_rounds": 3}


async def test_without_a_task_no_room_is_made_and_that_is_said(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), size=(80, 24)) as seen:
        await seen.press("n", "ctrl+g")
        assert isinstance(seen.app.screen, NewRoomScreen)
        assert seen.client.made == []


def test_every_setting_of_a_new_room_has_its_section() -> None:
    assert {"task", "name"} | {name for names in SECTIONS.values() for name in names} == SETTINGS.keys()


@pytest.mark.parametrize("steps", [6, 12, 18])
async def test_a_form_may_be_left_while_its_fields_come(tmp_path: Path, steps: int) -> None:
    async with listed(tmp_path, room(1), room(2), size=(120, 40)) as seen:
        await seen.press("n")
        form = seen.app.screen
        assert isinstance(form, NewRoomScreen)
        unfolding = asyncio.create_task(form.action_unfold())
        for _ in range(steps):  # of the event loop
            await asyncio.sleep(0)
        await form.dismiss(None)
        await unfolding
        assert seen.app.screen is not form

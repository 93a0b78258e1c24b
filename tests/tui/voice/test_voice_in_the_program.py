"""The voice screen within the program: the key that opens it, its help, its palette, the way back."""

from __future__ import annotations

from pathlib import Path

from tests.tui.whole_app import opened_app


async def test_f6_opens_a_voice_room_above_a_room_and_escape_goes_back(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("f6")
        text = await seen.until("voice room demo", "r retry")  # there is no backend behind this link
        assert "127.0.0.1:9" in text
        await seen.press("f6")  # it is open already
        await seen.press("escape")
        text = await seen.until("Should we?")
        assert "voice room" not in text


async def test_its_help_and_the_palette_name_what_it_can_do(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(100, 90)) as seen:
        await seen.press("f6")
        await seen.until("r retry")
        text = await seen.press("question_mark")
        assert "Push to talk: hold, or press twice – the agent is not ready yet" in " ".join(text.split())
        assert "Interrupt the agent – the agent is not speaking" in text
        assert "Find in the transcript" in text
        await seen.press("escape")
        titles = {command.title for command in seen.app.places.palette.entries(seen.app.screen)}
        assert {"Mute or unmute the microphone", "Send a file to the agent", "Leave the room"} <= titles
        assert "Pause or resume the room" not in titles


async def test_its_keys_can_be_changed(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys={"voice.retry": "ctrl+r"}) as seen:
        await seen.press("f6")
        assert "ctrl+r retry" in await seen.until("retry")

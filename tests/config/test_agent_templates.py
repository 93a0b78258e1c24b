"""Agent templates: the shipped ones, the user's own, broken ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.config.agent_templates import (
    LANGUAGES,
    SHIPPED,
    Template,
    language_of,
    load,
    read_template,
    save_template,
    template_text,
    templates,
)
from agent_tui.model.colors import hex_color
from agent_tui.model.errors import ConfigError

NOBODY = Path("/nonexistent/agents")
GOOD = '[en]\nname = "Mine"\nprompt = "Do."\n'
# A broken file and what its one line must say.
BROKEN = {
    "": "needs [en], [zh] or [ru]",
    "[en": "not valid TOML",
    "en = 3": "en: must be a table",
    "[en]\nprompt = 'P'": "en.name: is missing",
    "[en]\nname = 'N'": "en.prompt: is missing",
    "[en]\nname = 3\nprompt = 'P'": "en.name: must be a string",
    f"[en]\nname = '{'x' * 101}'\nprompt = 'P'": "en.name: has 101 of at most 100",
    f"color = 'red'\n{GOOD}": "color: must be like #4c9be8",
    f"model = []\n{GOOD}": "model: must be a string",
    f"color = {'9' * 5000}\n{GOOD}": "not valid TOML",
}


def test_fourteen_are_shipped_each_in_three_languages_and_a_colour_of_its_own() -> None:
    shipped = templates(NOBODY)
    assert len(shipped) == 14
    assert len({template.color for template in shipped}) == 14
    for template in shipped:
        assert set(template.names) == set(template.prompts) == set(template.summaries) == set(LANGUAGES)
        assert hex_color(template.color)
        assert template.path.parent == SHIPPED
        assert not template.is_own


@pytest.mark.parametrize(("language", "script"), [("zh", "[\u4e00-\u9fff]"), ("ru", "[а-яё]")])
def test_every_prompt_is_written_in_its_language(language: str, script: str) -> None:
    for template in templates(NOBODY):
        for text in template.in_language(language):
            assert re.search(script, text), template.id
        assert language_of(template.in_language(language)[1]) == language


@pytest.mark.parametrize(("locale", "language"), [("zh_CN.UTF-8", "zh"), ("ru_RU.UTF-8", "ru"), ("C", "en")])
def test_a_text_without_letters_is_in_the_language_of_the_process(
    monkeypatch: pytest.MonkeyPatch, locale: str, language: str
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    assert [language_of(text) for text in ("17*23", "", "ok", "你好")] == [language, language, "en", "zh"]


def test_names_differ_in_every_language() -> None:
    for language in LANGUAGES:
        assert len({template.in_language(language)[0] for template in templates(NOBODY)}) == 14


def test_a_file_of_the_users_replaces_the_shipped_one_of_its_id(tmp_path: Path) -> None:
    (tmp_path / "critic.toml").write_text(GOOD, encoding="utf-8")
    found = {template.id: template for template in templates(tmp_path)}
    assert len(found) == 14
    assert found["critic"].is_own
    assert found["critic"].in_language("ru") == ("Mine", "Do.", "")


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_one_line_and_the_others_are_there(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    found, warnings = load(tmp_path)
    assert len(found) == 14
    assert len(warnings) == 1
    assert warnings[0].startswith(str(tmp_path / "bad.toml"))
    assert BROKEN[text] in warnings[0]
    assert "\n" not in warnings[0]


def test_what_is_no_utf8_too_large_or_a_folder_is_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"[en]\nname = '\xff'")
    (tmp_path / "b.toml").write_bytes(b"#" * 300_000)
    (tmp_path / "c.toml").mkdir()
    (tmp_path / "-d.toml").write_text(GOOD, encoding="utf-8")
    _, warnings = load(tmp_path)
    assert len(warnings) == 4


def test_a_key_that_means_nothing_is_warned_about_and_the_file_is_used(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(f"odd = 1\n{GOOD}mood = 2\n", encoding="utf-8")
    found, warnings = load(tmp_path)
    assert [template.id for template in found if template.is_own] == ["mine"]
    assert [line.split(": ", 1)[1] for line in warnings] == [
        "odd: unknown key, ignored",
        "en.mood: unknown key, ignored",
    ]


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=50).map(str.strip).filter(bool)


@given(name=WORDS, prompt=WORDS, summary=WORDS)
def test_what_is_saved_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, name: str, prompt: str, summary: str
) -> None:
    folder = tmp_path_factory.mktemp("own")
    made = Template("mine", {"zh": name}, {"zh": prompt}, {"zh": summary}, "#123456", "m", "p")
    path = save_template(made, folder)
    read, warnings = read_template(path, is_own=True)
    assert warnings == []
    assert (read.names, read.prompts, read.summaries) == (made.names, made.prompts, made.summaries)
    assert (read.color, read.model, read.provider) == ("#123456", "m", "p")
    assert template_text(read) == template_text(made)


@pytest.mark.parametrize("template_id", ["", "../x", "a/b", ".hidden", "a\nb"])
def test_an_id_that_could_leave_the_folder_is_refused(tmp_path: Path, template_id: str) -> None:
    with pytest.raises(ConfigError):
        save_template(Template(template_id, {"en": "N"}, {"en": "P"}, {}), tmp_path)
    assert list(tmp_path.iterdir()) == []

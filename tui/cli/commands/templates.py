"""``agent-tui rooms templates``: the agents that a room can have."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from agent_tui.config import agent_templates
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from tui.cli import output
from tui.cli.commands.asking import print_table
from tui.cli.output import OutputFormat
from tui.language import short_language
from tui.screens.localised import localised

HEAD = ("ID", "NAME", "WHAT IT DOES")
NO_TEMPLATES = "there are no templates"
MAX_SHOWN_CHARACTERS = 60  # of an unknown id


def templates(keep: str | None, output_format: OutputFormat) -> None:
    """Print the templates, and on stderr errors in the user's own; as json ``{"templates": [{"id", "own",
    "path", "color", "model", "provider", "texts"}…]}``, with name, summary and prompt by language.

    With ``keep``, write that template as the user's own file instead.
    """
    found, warnings = agent_templates.load()
    if keep is not None:
        keep_template(found, keep, output_format)
        return
    for warning in warnings:
        output.notice(localised(warning))
    if output_format == "json":
        output.write_json({"templates": [_fields(template) for template in found]})
    else:
        print_table(HEAD, map(_row, found), NO_TEMPLATES)


def _row(template: agent_templates.Template) -> tuple[str, str, str]:
    name, _, summary = template.in_language(short_language())
    own = localised("(your own)") if template.is_own else ""
    return template.id, name, f"{summary} {own}".strip()


def keep_template(
    found: Sequence[agent_templates.Template], template_id: str, output_format: OutputFormat
) -> None:
    """Write a shipped template as the user's own file, print its path, as json its fields. Raises
    ``ConfigError`` if there is none with that id, or the user has such a file already.
    """
    by_id = {template.id: template for template in found}
    if template_id not in by_id:
        shown = inert_line(template_id, MAX_SHOWN_CHARACTERS)
        raise ConfigError(f'there is no template "{shown}"', f"there are {', '.join(by_id)}")
    path = agent_templates.own_folder() / f"{template_id}{agent_templates.SUFFIX}"
    if os.path.lexists(path):  # also one with an error: it may be almost done
        raise ConfigError(f'"{template_id}" is your own already', str(path))
    kept = replace(by_id[template_id], path=agent_templates.save_template(by_id[template_id]), is_own=True)
    if output_format == "json":
        output.write_json(_fields(kept))
    else:
        output.say(str(kept.path))


def _fields(template: agent_templates.Template) -> dict[str, object]:
    texts = {}
    for language in template.names:
        name, prompt, summary = template.in_language(language)
        texts[language] = {"name": name, "summary": summary, "prompt": prompt}
    return {
        "id": template.id,
        "own": template.is_own,
        "path": str(template.path),
        "color": template.color,
        "model": template.model,
        "provider": template.provider,
        "texts": texts,
    }

"""``agent-tui rooms templates``: the agents that a room can be made of."""

from __future__ import annotations

from agent_tui import agent_templates
from tui import exits, output
from tui.output import OutputFormat


def list_templates(output_format: OutputFormat) -> int:
    """Print the templates; what cannot be used of the user's own is a line on stderr.

    As json: ``{"templates": [{"id", "own", "path", "color", "model", "provider", "texts"}…]}``, ``texts``
    by language, each with name, summary and prompt.
    """
    found, warnings = agent_templates.load()
    for warning in warnings:
        output.notice(warning)
    if output_format == "json":
        output.write_json({"templates": [_fields(template) for template in found]})
        return exits.DONE
    rows = [("ID", "NAME", "WHAT IT DOES")]
    for template in found:
        name, _, summary = template.in_language("en")
        rows.append((template.id, name, f"{summary} (your own)".strip() if template.is_own else summary))
    output.say(output.table(rows))
    return exits.DONE


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

"""A document as one HTML page: no script, nothing loaded, every word escaped, light and dark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from agent_tui.model.events import Message
from tui.cli.export.document import Document, FoldedPart, clean, marks, moment, said_by, usage_text
from tui.cli.export.parts import parts
from tui.language import current_language
from tui.screens.words import say

MESSAGE_LEVEL: Final = 3
MAX_RENDERED_CHARACTERS: Final = 200_000  # of one message; a longer one is shown as plain text
MAX_BRACKETS: Final = 3_000  # "[" of one message; the parser looks for the end of each
MAX_NESTING: Final = 100  # of quotes and lists, which are two levels each; what is deeper is plain text, too
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_STYLE: Final = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1c2128; --dim: #59636e; --line: #d1d9e0;
  --soft: #f3f5f7; --link: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --ground: #0f1419; --ink: #e6edf3; --dim: #9aa5b1;
  --line: #333b44; --soft: #1a2028; --link: #79b8ff; } }
body { margin: 0 auto; padding: 1.5rem; max-width: 50rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; } h4, h5, h6 { font-size: 1rem; margin: 1.25rem 0 .5rem; }
h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; }
a { color: var(--link); } .dim { color: var(--dim); font-size: .875rem; margin: .25rem 0; }
article { border-left: .25rem solid var(--line); padding: .1rem 0 .1rem 1rem; margin: 1.5rem 0; }
article h3 { margin: 0; } article.superseded { opacity: .65; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; color: var(--dim); }
dt, dd { margin: 0; } pre, code { font-family: ui-monospace, monospace; background: var(--soft); }
pre { padding: .75rem; overflow-x: auto; } pre.words { white-space: pre-wrap; }
blockquote { border-left: .2rem solid var(--line); margin-left: 0; padding-left: 1rem; color: var(--dim); }
details { margin: .5rem 0; color: var(--dim); } summary { cursor: pointer; overflow-wrap: anywhere; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; overflow-wrap: break-word; }
"""


def page(document: Document) -> str:
    title = _safe(document.title)
    facts = (f'<dt>{_safe(label)}</dt><dd dir="auto">{_safe(text)}</dd>' for label, text in document.facts)
    made = [
        "<!doctype html>",
        f'<html lang="{current_language()}"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f'<h1 dir="auto">{title}</h1>',
        "<dl>",
        *facts,
        "</dl>",
    ]
    if document.task:
        made.append(f'<blockquote dir="auto"><pre class="words">{_safe(document.task)}</pre></blockquote>')
    round_number = 0
    for message in document.messages:
        if message.round_number > round_number:
            round_number = message.round_number
            made.append(f"<h2>{_safe(say('export.round', number=round_number))}</h2>")
        made.append(_article(message, document.names))
    made.append("</body></html>")
    return "\n".join(made) + "\n"


def _article(message: Message, names: Mapping[str, str]) -> str:
    color = message.sender_color
    style = f' style="border-color: {color}"' if _COLOR.fullmatch(color) else ""
    kind = ' class="superseded"' if message.superseded else ""
    about_parts = (*marks(message, names), usage_text(message), moment(message.created_at))
    about = " · ".join(text for text in about_parts if text)
    body = "".join(
        f'<div dir="auto">{_words(part, keeps_lines=message.role == "user")}</div>'
        if isinstance(part, str)
        else _details(part)
        for part in parts(message)
    )
    return (
        f'<article{kind}{style}><h3 dir="auto">{_safe(said_by(message))}</h3>'
        f'<p class="dim" dir="auto">{_safe(about)}</p>{body}</article>'
    )


def _details(part: FoldedPart) -> str:
    title = " · ".join(text for text in (part.about, part.summary) if text)
    title = f"<strong>{_safe(part.name)}</strong> {_safe(title)}"
    if not part.body:
        return f'<p dir="auto">{title}</p>'
    head = f'<summary dir="auto">{title}</summary>'
    return f'<details>{head}<div dir="auto">{_words(part.body)}</div></details>'


def _safe(text: str) -> str:
    return escape(clean(text))


def _words(text: str, *, keeps_lines: bool = False) -> str:
    """Return a message's Markdown as HTML; HTML in it stays text, pictures are named and not loaded. With
    ``keeps_lines`` each line is one: a person typed it.
    """
    text = clean(text)
    if len(text) > MAX_RENDERED_CHARACTERS or text.count("[") > MAX_BRACKETS:
        return f'<pre class="words">{escape(text)}</pre>'
    options = {"html": False, "maxNesting": MAX_NESTING, "breaks": keeps_lines}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    parser.validateLink = _may_be_followed  # type: ignore[assignment, method-assign]  # its own hook
    parser.disable("reference")  # its lines would not be shown; screens show them as they are
    parser.add_render_rule("image", _image)
    tokens = parser.parse(text)
    if any(token.level >= MAX_NESTING - 2 for token in tokens):  # the parser left out what is deeper
        return f'<pre class="words">{escape(text)}</pre>'
    for token in tokens:
        _below_the_message(token)
    return str(parser.renderer.render(tokens, parser.options, {}))


def _may_be_followed(address: str) -> bool:
    """Return whether a link leads to a web page or to mail. Any other may start a program, or, as a path of a
    page that is a file, lead to a server: it stays text, which shows where it leads.
    """
    return address.lower().startswith(("http://", "https://", "mailto:"))


def _below_the_message(token: Token) -> None:
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(6, int(token.tag[1:]) + MESSAGE_LEVEL)}"
    for child in token.children or ():
        if child.type == "link_open":
            child.attrSet("rel", "noopener noreferrer nofollow")


def _image(self: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    picture = tokens[place]
    return (
        f"[{escape(picture.content or say('export.picture'))}: {escape(str(picture.attrs.get('src', '')))}]"
    )

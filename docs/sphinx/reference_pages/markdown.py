"""Markdown of generated pages: what was written for a terminal, a comment or a docstring, made safe for a page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

MARKS = re.compile(r"([\\*<$\[\]~]|(?<!\w)_|_(?!\w))")
"""What Markdown would take for a mark of its own."""
SPANS = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)|(?P<address>https?://[^\s,;)/]*\.[^\s,;)]*[\w/])", flags=re.DOTALL
)


def prose(text: str) -> str:
    """Return plain text as one line of Markdown: what stands between backticks is code, an address a link."""
    flat, parts, last = " ".join(text.split()), [], 0
    for found in SPANS.finditer(flat):
        inside = code(found["code"]) if found["code"] else f"<{found['address']}>"
        parts += [MARKS.sub(r"\\\1", flat[last : found.start()]), inside]
        last = found.end()
    return "".join([*parts, MARKS.sub(r"\\\1", flat[last:])])


def docstring(paragraph: str) -> str:
    """Return a paragraph of a docstring as Markdown: what is indented is a block of code, what has dashes a list."""
    lines = paragraph.splitlines()
    if paragraph.startswith("    "):
        return fenced(inspect.cleandoc(f"\n{paragraph}"), "text")
    if lines[0].startswith("- "):
        entries = re.split(r"^- ", paragraph, flags=re.MULTILINE)[1:]
        return "".join(f"- {prose(entry)}\n" for entry in entries)
    return f"{prose(paragraph)}\n"


def code(text: str) -> str:
    """Return a value or a name as code; "" stays empty."""
    if "`" in text:
        return f"`` {text} ``"
    return f"`{text}`" if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells of Markdown."""
    lines = [" | ".join(cell.replace("|", r"\|") for cell in row) for row in [head, ["---"] * len(head), *rows]]
    return "".join(f"| {line} |\n" for line in lines)


def fenced(text: str, language: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"

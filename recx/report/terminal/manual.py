"""A page of the documentation in the terminal."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.text import Text


class _Code(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = str(self.text).rstrip().splitlines()
        yield Text("\n".join(f"  {line}" for line in lines), "bold", no_wrap=True, overflow="ignore")


class Manual(Markdown):
    """Markdown whose fenced lines stay whole, however wide the terminal is: a command can be copied."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "fence": _Code, "code_block": _Code}

"""One output of a notebook's cell whose text is replaced while a run goes on, so that nothing piles up below it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4


@dataclass(eq=False)
class LiveOutput:
    """The text of the output: lines that stay, then what runs at present.

    Attributes:
        lines: The lines that stay.
        stage: What runs; "" if nothing does.
    """

    lines: list[str] = field(default_factory=list)
    stage: str = ""
    _id: str = ""

    def keep(self, line: str) -> None:
        """Add a line that stays."""
        self.lines.append(line)
        self.show()

    @contextmanager
    def running(self, stage: str) -> Iterator[None]:
        """Show inside the context that a stage runs."""
        self.stage = stage
        self.show()
        try:
            yield
        except BaseException:
            self.stage = ""
            self.keep(f"{stage} stopped")
            raise
        self.stage = ""  # the line with its seconds follows

    def show(self, detail: str = "") -> None:
        """Show the lines and, if a stage runs, its name and how far it is."""
        from IPython.display import display, update_display

        text = "\n".join([*self.lines, *([f"{self.stage} … {detail}".rstrip()] if self.stage else [])])
        shown = {"text/plain": text}
        if self._id:
            update_display(shown, raw=True, display_id=self._id)
        else:
            self._id = uuid4().hex
            display(shown, raw=True, display_id=self._id)


def live_output() -> LiveOutput | None:
    """Return an output of the notebook's cell; None outside a notebook."""
    return LiveOutput() if in_notebook() else None


def in_notebook() -> bool:
    """Return whether a notebook's kernel runs this process."""
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console().is_jupyter

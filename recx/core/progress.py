"""Says what a run is doing while it does it, and keeps the seconds of every stage.

On a terminal a spinner and bars (rich), elsewhere plain lines; nothing at all unless ``shown_on`` was entered, so that
``Experiment.run()`` in a notebook or a test is silent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from recx.core.system.memory import peak

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
EVERY = 5.0  # seconds between two lines where there is no terminal
_console: ContextVar[Console | None] = ContextVar("console", default=None)


@contextmanager
def shown_on(console: Console) -> Iterator[None]:
    """Show the progress of everything inside on this console."""
    token = _console.set(console)
    try:
        yield
    finally:
        _console.reset(token)


def say(text: str) -> None:
    """Print one line of progress."""
    console = _console.get()
    if console is not None:
        console.print(text, markup=False, highlight=False)


@dataclass(frozen=True)
class Stages:
    """Times the stages of one run by name.

    peaks: the most memory (MiB) that the process had held when a stage was done. passes: how often it was gone through.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)
    passes: dict[str, int] = field(default_factory=dict)
    _started: float = field(default_factory=time.perf_counter)

    @contextmanager
    def __call__(self, name: str, of: str = "") -> Iterator[None]:
        """Run a stage: show its name while it works, add up and show its seconds when it is done.

        ``of`` tells apart two goes at one stage (the past fold's and the present one's).
        """
        console = _console.get()
        label = f"{name} ({of})" if of else name
        start = time.perf_counter()
        if console is not None and console.is_terminal:
            with console.status(f"{label} …"):
                yield
        else:
            yield
        took = time.perf_counter() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + took
        self.peaks[name] = peak()
        self.passes[name] = self.passes.get(name, 0) + 1
        say(f"{label:<22} {took:7.2f} s")

    def total(self) -> dict[str, float]:
        """Return the seconds of every stage, and of all since this object was made."""
        return {**self.seconds, "total": time.perf_counter() - self._started}


@contextmanager
def bar() -> Iterator[Callable[[float, str], None]]:
    """Give a function that shows how far (0 to 1) something long has come, and what there is to say of it.

    On a terminal it moves a bar; elsewhere it prints a line every few seconds.
    """
    console = _console.get()
    if console is not None and console.is_terminal:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
        )
        with Progress(*columns, console=console, transient=True) as shown:
            task = shown.add_task("", total=1.0)
            yield lambda done, text: shown.update(task, completed=done, description=text)
        return
    last = time.perf_counter()

    def line(done: float, text: str) -> None:
        nonlocal last
        if console is not None and time.perf_counter() - last > EVERY:
            say(f"  {text}")
            last = time.perf_counter()

    yield line


def track(sequence: Sequence[T], what: str) -> Iterator[T]:
    """Yield from the sequence and, while it takes long, say every few seconds how far it has come."""
    with bar() as show:
        for done, element in enumerate(sequence):
            show(done / len(sequence), f"{done} of {len(sequence)} {what}")
            yield element

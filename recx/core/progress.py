"""Shows what a run is doing, and records the seconds of every stage.

On a terminal it shows a spinner and bars (rich), in a notebook one output that is replaced, elsewhere plain lines, and
nothing at all outside ``shown_on``, so that ``Experiment.run()`` in a notebook or a test is silent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from recx.core.live_output import LiveOutput, live_output
from recx.core.system.memory import peak
from recx.core.system.screen import visible
from recx.core.system.signals import raise_if_stopped

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
EVERY = 5.0  # seconds between two lines where there is no terminal
EVERY_LIVE = 0.1  # seconds between two texts of a notebook's output
_console: ContextVar[Console | None] = ContextVar("console", default=None)
_live: ContextVar[LiveOutput | None] = ContextVar("live", default=None)


@contextmanager
def shown_on(console: Console) -> Iterator[None]:
    """Show progress inside the context: on this console, or in an output of the notebook's cell."""
    tokens = _console.set(console), _live.set(live_output())
    try:
        yield
    finally:
        _console.reset(tokens[0])
        _live.reset(tokens[1])


def say(text: str) -> None:
    """Print one line of progress.

    Args:
        text: The line.
    """
    console, live = _console.get(), _live.get()
    if live is not None:
        live.keep(visible(text))
    elif console is not None:
        console.print(visible(text), markup=False, highlight=False)


@dataclass(frozen=True)
class Stages:
    """Times the stages of one run by name.

    Attributes:
        aloud: Whether to show the seconds of a stage at its end.
        seconds: The total time of each stage.
        peaks: The peak memory of the process (MiB) at the end of each stage.
        passes: How often each stage ran.
    """

    aloud: bool = True
    seconds: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)
    passes: dict[str, int] = field(default_factory=dict)
    _started: float = field(default_factory=time.perf_counter)

    @contextmanager
    def __call__(self, name: str, of: str = "") -> Iterator[None]:
        """Time a stage: show its name while it runs, then add up and show its seconds.

        Args:
            name: The stage.
            of: What distinguishes two passes of one stage, such as the past and the present fold.

        Raises:
            KeyboardInterrupt: The process was told to stop, before the stage or in it (see ``recx.plugin.stoppable``).
        """
        raise_if_stopped()
        start = time.perf_counter()
        with _running(_label(name, of)):
            yield
        raise_if_stopped()
        took = time.perf_counter() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + took
        self.peaks[name] = peak()
        self.passes[name] = self.passes.get(name, 0) + 1
        if self.aloud:
            say(_took(name, of, took))

    def add(self, other: Stages, of: str = "") -> None:
        """Add what another object timed silently, and show its seconds."""
        for name, took in other.seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + took
            self.peaks[name] = max(self.peaks.get(name, 0.0), other.peaks[name])
            self.passes[name] = self.passes.get(name, 0) + other.passes[name]
            if self.aloud:
                say(_took(name, of, took))

    def total(self) -> dict[str, float]:
        """Return the seconds of every stage, and the total since this object was created."""
        return {**self.seconds, "total": time.perf_counter() - self._started}


def _label(name: str, of: str) -> str:
    return f"{name} ({of})" if of else name


def _took(name: str, of: str, seconds: float) -> str:
    return f"{_label(name, of):<22} {seconds:7.2f} s"


def _running(label: str) -> AbstractContextManager[object]:
    """Show the name of a stage while it runs, where it can be replaced afterwards."""
    console, live = _console.get(), _live.get()
    if live is not None:
        return live.running(label)
    return console.status(f"{label} …") if console is not None and console.is_terminal else nullcontext()


@contextmanager
def bar() -> Iterator[Callable[[float, str], None]]:
    """Yield a function that shows the progress of a long computation: the share that is done (0 to 1), and a text.

    On a terminal it moves a bar, in a notebook it replaces the text; elsewhere it prints a line every few seconds.
    """
    console, live = _console.get(), _live.get()
    if live is None and console is not None and console.is_terminal:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        text = TextColumn("{task.description}", markup=False)
        columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), text)
        with Progress(*columns, console=console, transient=True) as shown:
            task = shown.add_task("", total=1.0)
            yield lambda done, text: shown.update(task, completed=done, description=visible(text))
        return
    last = time.perf_counter()

    def line(done: float, text: str) -> None:
        nonlocal last
        if time.perf_counter() - last > (EVERY if live is None else EVERY_LIVE):
            say(f"  {text}") if live is None else live.show(f"{done:.0%} {visible(text)}")
            last = time.perf_counter()

    yield line


def track(sequence: Sequence[T], what: str) -> Iterator[T]:
    """Yield the elements of a sequence and show how many are done; ``what`` names them in the plural."""
    with bar() as show:
        for done, element in enumerate(sequence):
            show(done / len(sequence), f"{done} of {len(sequence)} {what}")
            yield element

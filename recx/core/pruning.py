"""Ending a trial of a sweep early: what trains in epochs tells what each reached, a pruner says whether to go on.

A part calls ``reached`` after every epoch; outside a sweep that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Watch = Callable[[int, float], None]
_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


class Pruned(BaseException):
    """A trial is not worth going on with, which is no error: it passes by whatever catches an ``Exception``.

    course: epoch -> the value reached there, up to the last one.
    """

    def __init__(self, course: Mapping[int, float]) -> None:
        super().__init__(f"pruned at epoch {max(course)}")
        self.course = dict(course)


def reached(step: int, value: float) -> None:
    """Tell what an epoch (from 1) reached on validation; the larger, the better.

    Raises:
        Pruned: the trial under way is not worth going on with.
    """
    watch = _watch.get()
    if watch is not None:
        watch(int(step), float(value))


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Let ``watch`` hear of every step inside."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


@contextmanager
def noted() -> Iterator[list[tuple[int, float]]]:
    """Give a list of all steps inside, in their order; whoever watches hears of them too."""
    steps: list[tuple[int, float]] = []
    outer = _watch.get()

    def note(step: int, value: float) -> None:
        steps.append((step, value))
        if outer is not None:
            outer(step, value)

    with watched(note):
        yield steps


@dataclass
class FirstFit:
    """Watches the first fit of a trial: a retriever is fitted twice, and a union has several.

    prunes: says of a course whether it is not worth going on with. course: step -> value. over: steps rose no more, so
    that another fit has begun.
    """

    prunes: Callable[[Mapping[int, float]], bool]
    course: dict[int, float] = field(default_factory=dict)
    over: bool = False

    def __call__(self, step: int, value: float) -> None:
        """Take a step down.

        Raises:
            Pruned: ``prunes`` says so.
        """
        self.over = self.over or step <= max(self.course, default=step - 1)
        if not self.over:
            self.course[step] = value
            if self.prunes(self.course):
                raise Pruned(self.course)

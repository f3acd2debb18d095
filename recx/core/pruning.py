"""Stopping a trial of a sweep early: a part reports the value of each epoch, and a pruner decides whether to go on.

A part calls ``reached`` after every epoch; outside a sweep this does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Watch = Callable[[int, float], None]
_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


class Pruned(BaseException):
    """A trial was stopped early. This is not an error, so ``except Exception`` does not catch it.

    Attributes:
        course: Epoch -> value, up to the last epoch.
    """

    def __init__(self, course: Mapping[int, float]) -> None:
        super().__init__(f"pruned at epoch {max(course)}")
        self.course = dict(course)


def reached(step: int, value: float) -> None:
    """Report the validation value of an epoch.

    Args:
        step: The epoch, from 1.
        value: The value; larger is better.

    Raises:
        Pruned: The trial is to be stopped.
    """
    watch = _watch.get()
    if watch is not None:
        watch(int(step), float(value))


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Pass every step inside the context to ``watch``."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


@contextmanager
def noted() -> Iterator[list[tuple[int, float]]]:
    """Yield a list to which every step inside the context is appended; an outer ``watch`` gets them too."""
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
    """Watches the first fit of a trial: a retriever is fitted twice, and a union has several retrievers.

    Attributes:
        prunes: Returns whether to stop a trial with this course.
        course: Step -> value.
        over: Whether the first fit has ended: the steps stopped increasing, so another fit has begun.
    """

    prunes: Callable[[Mapping[int, float]], bool]
    course: dict[int, float] = field(default_factory=dict)
    over: bool = False

    def __call__(self, step: int, value: float) -> None:
        """Record a step.

        Raises:
            Pruned: ``prunes`` returned true.
        """
        self.over = self.over or step <= max(self.course, default=step - 1)
        if not self.over:
            self.course[step] = value
            if self.prunes(self.course):
                raise Pruned(self.course)

"""A metric by its name: ``ndcg_at_10``; without ``_at_k`` the list is not cut."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recx.errors import InputError, did_you_mean
from recx.evaluator import hits
from recx.types import Doubles, Judged

NAMES = (*hits.FIGURES, "err")


@dataclass(frozen=True)
class HitMetric:
    """A metric computed from the rows that show a target: a figure of ``recx.evaluator.hits`` and a cut.

    k: how many of each list count; None: all. max_grade: the highest grade that there can be, for ``err``.
    """

    figure: str
    k: int | None = None
    max_grade: float | None = None

    def __post_init__(self) -> None:
        if self.figure not in NAMES:
            raise InputError(f"there is no metric {self.figure!r}: {did_you_mean(self.figure, NAMES)}")
        if self.k is not None and (isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1):
            raise InputError(f"the metric {self.figure!r} is cut at k={self.k!r}: k must be a whole number from 1 up")
        if self.figure == "err" and self.max_grade is None:
            raise InputError(
                f"the metric {self.name!r} needs the highest grade that there can be: set evaluator.max_grade"
            )

    @property
    def name(self) -> str:
        return self.figure if self.k is None else f"{self.figure}_at_{self.k}"

    def __call__(self, judged: Judged) -> Doubles:
        """Return one value a user, float64 [n_users]."""
        if self.figure == "err":
            assert self.max_grade is not None, "checked when made"
            return hits.err(judged, self.k, max_grade=self.max_grade)
        return hits.FIGURES[self.figure](judged, self.k)


def parse(name: str, max_grade: float | None = None) -> HitMetric:
    """Return the metric of this name.

    Raises:
        InputError: there is no such metric, k is not a whole number from 1 up, or err lacks ``max_grade``.
    """
    figure, at, k = name.partition("_at_")
    if figure not in NAMES:
        raise InputError(f"there is no metric {name!r}: {did_you_mean(name, _near(name))}")
    if at and not re.fullmatch("[1-9][0-9]*", k):
        raise InputError(
            f"the metric {name!r} is cut at {k!r}: k must be a whole number from 1 up, as in {figure}_at_10"
        )
    return HitMetric(figure, int(k) if at else None, max_grade if figure == "err" else None)


def _near(name: str) -> list[str]:
    """Return the names that a wrong one may stand for: with a cut, if it ends in a number."""
    number = re.search("[1-9][0-9]*$", name)
    return [f"{figure}_at_{number[0]}" for figure in NAMES] if number else list(NAMES)

"""Names of figures where they leave a run: those of ``fold=valid`` carry its name, so that nothing mixes both folds.

The best run of a sweep, which is of the test fold, has both: its own figures, and those by which it was chosen.

Inside a run, in ``objective``, ``evaluator.*`` and flags, names are bare. In ``metrics.json``, ``per_user.parquet``,
CSV files and trackers, ``valid/end_to_end/ndcg_at_5`` is what a choice was made by, and ``end_to_end/ndcg_at_5`` the
result.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

T = TypeVar("T")
VALID = "valid/"
OF_ANY_FOLD = ("time/", "data/", "slice/")
"""Prefixes of figures that are not of a fold."""


def outside(figures: Mapping[str, T], fold: str) -> dict[str, T]:
    """Return figures under the names that they have outside of a run of this fold."""
    return {outside_name(name, fold): value for name, value in figures.items()}


def outside_name(name: str, fold: str) -> str:
    """Return the name that a figure has outside of a run of this fold; a name that it has there already is kept."""
    return f"{VALID}{name}" if fold == "valid" and not name.startswith((VALID, *OF_ANY_FOLD)) else name


def inside(figures: Mapping[str, T]) -> dict[str, T]:
    """Return figures under the names that they have inside of a run."""
    return {name.removeprefix(VALID): value for name, value in figures.items()}


def is_of_valid(figures: Collection[str]) -> bool:
    """Return whether figures, by the names that they have outside, are of a run of ``fold=valid``."""
    judged = [name for name in figures if not name.startswith(OF_ANY_FOLD)]
    chosen = [name for name in judged if name.startswith(VALID)]
    return bool(chosen) and not {name.removeprefix(VALID) for name in chosen}.intersection(judged)

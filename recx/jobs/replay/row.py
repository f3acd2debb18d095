"""The figures of one window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recx.core.evaluation import Evaluation
from recx.core.ragged import sum_of_groups
from recx.core.types import Bools
from recx.evaluation.drift import Drift
from recx.jobs.replay.alarms import DRIFT
from recx.jobs.replay.asked import FIRST, Answers, figures_of
from recx.jobs.replay.log import Log
from recx.jobs.replay.moved import rows_of
from recx.jobs.replay.refit import Gain
from recx.jobs.replay.windows import Window, moment_of

GAIN = "refit_gain/"
COVERAGE = f"coverage_at_{FIRST}"


@dataclass(frozen=True)
class Row:
    """A window and its figures.

    Attributes:
        window: The window.
        counts: ``events``, ``users`` (with an event), ``asked`` of them, ``left_out`` (with too little history),
            ``judged``.
        figures: The figures of quality, ``coverage_at_10`` and the shares of what is new, by name.
        intervals: The 95 % bootstrap intervals over users of those that have a value per user.
        moved: Name -> how far its distribution is from the reference.
        refitted: The time in ms at which a refitted chain would have learned last; None: that of the run is as new.
        gains: Figure -> what refitting would have gained.
        not_refitted: Why the recipe could not be fitted again for this window; "": it was, or was not to be.
    """

    window: Window
    counts: Mapping[str, int]
    figures: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    moved: Mapping[str, Drift]
    refitted: int | None = None
    gains: Mapping[str, Gain] = field(default_factory=dict)
    not_refitted: str = ""

    @property
    def named(self) -> dict[str, float]:
        """Every figure that may have a limit or a curve, by name."""
        return {
            **self.figures,
            **{f"{DRIFT}{name}": one.psi for name, one in self.moved.items()},
            **{f"{GAIN}{name}": one.gain for name, one in self.gains.items()},
        }

    @property
    def noise(self) -> dict[str, float]:
        """Figure of drift -> the value that it exceeds by chance in 5 % of cases."""
        return {f"{DRIFT}{name}": one.noise for name, one in self.moved.items()}

    def as_dict(self, moderate: float, large: float) -> dict[str, Any]:
        """Return the window for JSON.

        Args:
            moderate: The index of stability from which drift is moderate.
            large: The one above which it is large.
        """
        window = self.window
        return {
            "window": window.number,
            "name": window.name,
            "start": moment_of(window.start),
            "stop": moment_of(window.stop),
            "covered": window.covered,
            "partial": window.partial,
            **self.counts,
            "figures": self.figures,
            "intervals": self.intervals,
            "drift": {name: {**vars(one), "size": one.size(moderate, large)} for name, one in self.moved.items()},
            "refitted": None if self.refitted is None else moment_of(self.refitted),
            "not_refitted": self.not_refitted,
            "refit": {name: vars(one) for name, one in self.gains.items()},
        }

    def as_columns(self, moderate: float, large: float) -> dict[str, Any]:
        """Return the same as a row of a table: a column per number."""
        said = self.as_dict(moderate, large)
        flat = {name: value for name, value in said.items() if not isinstance(value, Mapping)}
        for name, value in self.figures.items():
            flat[name] = value
            if name in self.intervals:
                flat[f"{name}_low"], flat[f"{name}_high"] = self.intervals[name]
        for name, moved in said["drift"].items():
            flat[f"{DRIFT}{name}"] = moved["psi"]
            flat |= {f"{DRIFT}{name}_{what}": moved[what] for what in ("noise", "size")}
        for name, gain in self.gains.items():
            flat |= {f"{GAIN}{name}": gain.gain, f"{GAIN}{name}_low": gain.low, f"{GAIN}{name}_high": gain.high}
        return flat


@dataclass(frozen=True, eq=False)
class Known:
    """What the chain has learned from.

    Attributes:
        users: Which users have an event before the fit's end [n_users].
        items: Which items have one [n_items].
    """

    users: Bools
    items: Bools

    @classmethod
    def of(cls, log: Log) -> Known:
        """Return the users and items of the events before the fit's end."""
        events = log.events
        assert events.time is not None
        earlier = events.time < log.until
        items = np.bincount(events.item[earlier], minlength=events.n_items) > 0
        return cls(sum_of_groups(earlier, events.indptr) > 0, items)


def counts_and_shares(log: Log, known: Known, window: Window, asked: int) -> tuple[dict[str, int], dict[str, float]]:
    """Return how much a window holds, and which shares of its events are of users and items that are new.

    Args:
        log: The log.
        known: What the chain has learned from.
        window: The window.
        asked: How many users are asked.
    """
    events = log.events
    inside = rows_of(events, window)
    users, items = events.user[inside], events.item[inside]
    n, active = len(items), len(np.unique(users))
    shares = {
        "new_users": ~known.users[users],
        "new_items": ~known.items[items],
        "items_not_in_catalogue": items >= len(log.items),
    }
    counts = {"events": n, "users": active, "asked": asked, "left_out": active - asked}
    return counts, {name: float(one.mean()) if n else float("nan") for name, one in shares.items()}


def judged(
    window: Window,
    log: Log,
    known: Known,
    answers: Answers | None,
    evaluation: Evaluation | None,
    moved: Mapping[str, Drift],
) -> Row:
    """Return the figures of a window.

    Args:
        window: The window.
        log: The log.
        known: What the chain has learned from.
        answers: The lists; None: nobody was asked.
        evaluation: Their evaluation; None: nothing was judged.
        moved: How far distributions have moved.
    """
    counts, shares = counts_and_shares(log, known, window, 0 if answers is None else len(answers.fold.requests))
    counts["judged"] = 0 if evaluation is None else len(evaluation.users)
    figures = figures_of(evaluation)
    names = [] if evaluation is None else [name for name in figures if name in evaluation.values]
    intervals = {} if evaluation is None else evaluation.intervals(names)
    covered = float("nan") if answers is None else answers.shown / len(log.items)
    return Row(window, counts, {**figures, COVERAGE: covered, **shares}, intervals, moved)

"""A replay from a model and a log to its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recx.core.errors import InputError
from recx.core.progress import bar, say
from recx.core.types import Fold
from recx.evaluation.drift import LARGE, MODERATE
from recx.evaluation.trend import Trend, trend
from recx.experiment import build
from recx.experiment.experiment import Experiment
from recx.experiment.model.model import Model
from recx.jobs.replay import log as logs
from recx.jobs.replay.alarms import Alarm, Limit, check_names, raised
from recx.jobs.replay.asked import Answers, Serves
from recx.jobs.replay.log import Log
from recx.jobs.replay.moved import Reference, Seen
from recx.jobs.replay.refit import PREFIX, Refits, gains
from recx.jobs.replay.row import GAIN, Known, Row, judged
from recx.jobs.replay.windows import Window, asking, before, folds, windows
from recx.parts.split.by_time import ByTime

if TYPE_CHECKING:
    import pandas as pd

From = Literal["fit", "first"]


@dataclass(frozen=True)
class Wanted:
    """What is asked of a replay.

    Attributes:
        log: The log.
        every: The length of a window.
        reference: Drift is measured from the window before the ``fit``'s end, or from the ``first`` one after it.
        refit: The time between two fits of the same recipe; None: nothing is fitted.
        limits: The limits of figures.
        min_history: How many events a user needs before a window to be asked; None: as the run's split says.
        moderate: The index of stability from which drift is moderate.
        large: The one above which it is large.
    """

    log: Path
    every: str = "1d"
    reference: From = "fit"
    refit: str | None = None
    limits: Sequence[Limit] = ()
    min_history: int | None = None
    moderate: float = MODERATE
    large: float = LARGE

    def __post_init__(self) -> None:
        if not 0 < self.moderate <= self.large:
            raise InputError(
                f"--moderate {self.moderate:g} --large {self.large:g}: both must be above 0, and the second no smaller "
                "than the first"
            )


@dataclass(frozen=True, eq=False, repr=False)
class Replayed:
    """What came of a replay.

    Attributes:
        wanted: What was asked.
        model: The model of the run.
        log: The log.
        split: Who was asked, and when.
        reference: The distributions that drift is measured from.
        rows: The figures of each window.
        alarms: The limits that were crossed.
    """

    wanted: Wanted
    model: Model
    log: Log
    split: ByTime
    reference: Reference | None
    rows: Sequence[Row]
    alarms: Sequence[Alarm] = ()

    def __repr__(self) -> str:
        return f"<Replayed: {len(self.rows)} windows of {self.wanted.every}, {len(self.alarms)} alarms>"

    @property
    def frame(self) -> pd.DataFrame:
        """One row per window, as in ``replay.csv``."""
        import pandas as pd

        bounds = self.wanted.moderate, self.wanted.large
        return pd.DataFrame([row.as_columns(*bounds) for row in self.rows])

    @cached_property
    def curves(self) -> dict[str, list[float]]:
        """Figure -> its value in each window, NaN where it has none."""
        names = dict.fromkeys(name for row in self.rows for name in row.named)
        return {name: [row.named.get(name, float("nan")) for row in self.rows] for name in names}

    @cached_property
    def trends(self) -> Mapping[str, Trend]:
        """Figure -> its trend over the whole windows, of those with enough of them."""
        whole = sum(not row.window.partial for row in self.rows)
        found = {name: trend(values[:whole]) for name, values in self.curves.items()}
        return {name: one for name, one in found.items() if one is not None}


def replayed(model: Model, wanted: Wanted) -> Replayed:
    """Ask a run's model window by window as it would have been asked, and judge what it says.

    Raises:
        InputError: The log or a setting cannot be used.
    """
    experiment = build.experiment(model.kept.config)
    log = logs.read(model, experiment, wanted.log)
    for note in log.notes:
        say(f"  {note}")
    some, split = windows(log, wanted.every), asking(experiment.splitter, wanted.min_history)
    replaying = _Replaying.of(model, experiment, log, split, wanted)
    if wanted.reference == "fit":
        replaying.refer_to(before(some[0]))
    rows, alarms, checked = list[Row](), list[Alarm](), False
    with bar() as show:
        for window, fold in folds(log, split, some):
            row = replaying.row(window, fold)
            if row.counts["judged"] and not checked:
                check_names(wanted.limits, replaying.names(row))
                checked = True
            rows.append(row)
            if not window.partial:
                alarms.extend(raised(wanted.limits, window.number, row.named, row.noise))
            show(len(rows) / len(some), f"{len(rows)} of {len(some)} windows")
    if not checked:
        raise InputError(
            f"--log {wanted.log}: in none of its {len(rows)} windows could anybody be asked and judged: "
            f"{split.min_history} earlier events are needed (--min-history 0 asks all who have an event in a window)"
        )
    return Replayed(wanted, model, log, split, replaying.reference, rows, alarms)


@dataclass(eq=False)
class _Replaying:
    """What the windows of a replay share.

    Attributes:
        experiment: The run's chain, as its configuration says.
        log: The log.
        known: What the kept chain has learned from.
        split: Who is asked, and when.
        serves: The kept chain.
        refits: The chains that are fitted again; None: none are.
        reference: The distributions that drift is measured from, once they are known.
    """

    experiment: Experiment
    log: Log
    known: Known
    split: ByTime
    serves: Serves
    refits: Refits | None
    reference: Reference | None = None

    @classmethod
    def of(cls, model: Model, experiment: Experiment, log: Log, split: ByTime, wanted: Wanted) -> _Replaying:
        chain = model.kept.chain
        serves = Serves(chain.retriever, chain.ranker, chain.n_candidates, log.items)
        refits = None if wanted.refit is None else Refits(experiment, log, wanted.refit)
        return cls(experiment, log, Known.of(log), split, serves, refits)

    def refer_to(self, window: Window) -> None:
        """Measure drift from the window before the fit's end.

        Raises:
            InputError: Nobody can be asked in it.
        """
        fold = self.split.fold_between(self.log.events, window.start, window.stop)
        if not len(fold.requests):
            raise InputError(
                f"--reference fit: nobody can be asked in the window before the fit's end, from {window.name} on: "
                "measure drift from the first window after it (--reference first), or choose another length (--every)"
            )
        seen = self._seen(Answers.of(self.serves, fold), window)
        self.reference = Reference.of(seen, self.log.events, window, of_fit=True)

    def row(self, window: Window, fold: Fold) -> Row:
        """Return the figures of a window."""
        if not len(fold.requests):
            return judged(window, self.log, self.known, None, None, {})
        answers = Answers.of(self.serves, fold)
        seen = self._seen(answers, window)
        if self.reference is None:
            self.reference = Reference.of(seen, self.log.events, window, of_fit=False)
        evaluation = answers.judged(self.experiment.evaluator)
        row = judged(window, self.log, self.known, answers, evaluation, self.reference.moved(seen))
        again = None if self.refits is None or evaluation is None else self.refits.for_window(window)
        if again is None or evaluation is None:
            return row
        if again.serves is None:
            return replace(row, not_refitted=again.why)
        refitted = Answers.of(again.serves, fold).judged(self.experiment.evaluator)
        assert refitted is not None  # since the targets are the same
        return replace(row, refitted=again.at, gains=gains(evaluation, refitted))

    def names(self, row: Row) -> list[str]:
        """Return the names of the figures that windows like this one may have."""
        later = [] if self.refits is None else [f"{GAIN}{name}" for name in row.intervals if name.startswith(PREFIX)]
        return [*row.named, *later]

    def _seen(self, answers: Answers, window: Window) -> Seen:
        return Seen.of(answers, self.serves.ranker, self.log.events, window)

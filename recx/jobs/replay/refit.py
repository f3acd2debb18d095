"""What refitting would have gained: the same recipe, fitted again every so often on all events before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.progress import Stages
from recx.core.resampling import bootstrap, sign_flip
from recx.core.system.durations import milliseconds
from recx.experiment.experiment import Experiment
from recx.experiment.past_sample import drawn
from recx.jobs.replay.asked import Serves
from recx.jobs.replay.log import Log
from recx.jobs.replay.windows import Window
from recx.parts.split.by_time import ByTime

PREFIX = "end_to_end/"


@dataclass(frozen=True)
class Gain:
    """How much better a refitted chain is in a window, over the same users.

    Attributes:
        value: Its figure.
        gain: The figure minus that of the kept chain.
        low: Lower end of the 95 % bootstrap interval of the gain over users.
        high: Its upper end.
        p: The two-sided p of no gain, by sign flips.
    """

    value: float
    gain: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, eq=False)
class Refit:
    """The recipe of a run, fitted again.

    Attributes:
        at: The time in ms before which it has learned.
        serves: What it made; None where it could not be fitted.
        why: The reason for that.
    """

    at: int
    serves: Serves | None
    why: str = ""


@dataclass(eq=False)
class Refits:
    """The recipe of a run, fitted again at times that lie a fixed duration apart.

    Attributes:
        experiment: The run's chain, as its configuration says.
        log: The log.
        every: The time between two fits.
        last: The last one.
    """

    experiment: Experiment
    log: Log
    every: str
    last: Refit | None = None

    def for_window(self, window: Window) -> Refit | None:
        """Return the chain as it would have been fitted last before a window; None: by the run itself."""
        length = milliseconds(self.every, "--refit")
        at = self.log.until + (window.start - self.log.until) // length * length
        if at == self.log.until:
            return None
        if self.last is None or self.last.at != at:
            self.last = None  # so that there is one at a time
            self.last = self._fitted(at)
        return self.last

    def _fitted(self, at: int) -> Refit:
        """Return the chain fitted on all events before a time, as a run of ``fold=predict`` is."""
        events, splitter = self.log.events, self.experiment.splitter
        assert events.time is not None
        if isinstance(splitter, ByTime):
            splitter = replace(splitter, skip=0)
        try:
            split = drawn(splitter.split(events.keep(events.time < at), "predict"), self.experiment.ranker)
            retriever, ranker = self.experiment.fit(split, Stages(aloud=False))
        except InputError as error:  # such as that of an hour without events, from which no ranker learns
            return Refit(at, None, str(error))
        return Refit(at, Serves(retriever, ranker, self.experiment.n_candidates))


def gains(kept: Evaluation, refitted: Evaluation) -> Mapping[str, Gain]:
    """Return what refitting gains in each figure that has a value per user; both judge the same users.

    Args:
        kept: The evaluation of the kept chain.
        refitted: That of the refitted one.
    """
    names = [name for name in kept.values if name.startswith(PREFIX) and name in refitted.values]
    apart = np.column_stack([refitted.values[name] - kept.values[name] for name in names])
    low, high = bootstrap(apart)
    known = ~np.isnan(apart)
    mean = np.where(known, apart, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    columns = zip(mean, low, high, sign_flip(apart), strict=True)
    return {name: Gain(refitted.means[name], *map(float, column)) for name, column in zip(names, columns, strict=True)}

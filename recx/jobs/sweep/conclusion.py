"""What a sweep says at its end: each variant against the baseline and the best, what was chosen, and what that cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError
from recx.core.nouns import ORDINARY, Nouns
from recx.evaluation.compare import compare
from recx.evaluation.standings import COLUMNS, standings, told_apart
from recx.experiment.saved_runs import SavedRun
from recx.jobs.sweep.importance import Importance
from recx.jobs.sweep.pooled import Pooled
from recx.jobs.sweep.variants import Variant

if TYPE_CHECKING:
    from recx.core.evaluation import Evaluation

NOTHING: Mapping[str, float] = dict.fromkeys(COLUMNS, math.nan)


@dataclass(frozen=True)
class OnTest:
    """What was chosen on ``valid``, once on ``test``, beside the baseline there.

    Attributes:
        chosen: The objective of the chosen trial; NaN where it failed.
        baseline: That of the baseline; NaN where there is none.
        difference: The mean of chosen - baseline over users.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: The p-value of the paired randomisation test.
    """

    chosen: float = math.nan
    baseline: float = math.nan
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan

    @property
    def regret(self) -> float:
        """What choosing by ``valid`` has cost on ``test``, against keeping the baseline; NaN where that is unknown."""
        return max(0.0, -self.difference) if self.difference == self.difference else math.nan


@dataclass(frozen=True)
class Conclusion:
    """What a sweep says at its end.

    Attributes:
        variants: What is compared, the best first, those without an objective last.
        objective: The name of the metric, as it is called outside of runs.
        chooses: Whether one may be chosen; not on the test fold.
        baseline: What the others are held against; None where nothing has an objective.
        why_baseline: Why that one.
        standings: Name of a variant -> its row of ``recx.evaluation.standings``.
        untested: Why nothing could be tested, "" where it could.
        chosen: What runs on test.
        why_chosen: Why that one.
        importances: The importance of each setting; empty where nothing can be said.
        conditional: The settings without one because they apply to some trials only.
        on_test: What came of it on test; None: it was not run there.
        pooled: Name of a variant -> the figures of its trials, where they differ in seed or fold.
        nouns: What the users and items of its trials are called.
    """

    variants: Sequence[Variant]
    objective: str
    chooses: bool
    baseline: Variant | None = None
    why_baseline: str = ""
    standings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    untested: str = ""
    chosen: Variant | None = None
    why_chosen: str = ""
    importances: Sequence[Importance] = ()
    conditional: Sequence[str] = ()
    on_test: OnTest | None = None
    pooled: Mapping[str, Pooled] = field(default_factory=dict)
    nouns: Nouns = ORDINARY

    @property
    def done(self) -> list[Variant]:
        """The variants that have an objective."""
        return [one for one in self.variants if one.done]

    @property
    def best(self) -> Variant | None:
        """The variant with the best mean; None where none may be chosen."""
        return next(iter(self.done), None) if self.chooses else None

    @property
    def alike(self) -> list[Variant]:
        """The variants that are not told apart from the best, itself first; none where nothing was tested."""
        best = self.best
        if best is None or self.untested:
            return []
        return [one for one in self.done if one is best or not told_apart(self.standing(one)["p_best"])]

    @property
    def tested(self) -> int:
        """How many variants were tested against the baseline: the family of Holm's method."""
        return sum(not math.isnan(row["p"]) for row in self.standings.values())

    def rank(self, variant: Variant) -> int:
        """Return the place of a variant with an objective among these, from 1."""
        return self.done.index(variant) + 1

    def standing(self, variant: Variant) -> Mapping[str, float]:
        """Return the tests of a variant; NaN where there are none."""
        return self.standings.get(variant.name, NOTHING)

    def roles(self, variant: Variant) -> str:
        """Return what a variant is, of baseline, best, chosen and as good: not told apart from the best."""
        parts = {"baseline": self.baseline, "best": self.best, "chosen": self.chosen}
        found = [name for name, other in parts.items() if other is variant]
        return ", ".join([*found, *(["as good"] if variant in self.alike and variant is not self.best else [])])

    def differs(self, variant: Variant) -> bool:
        """Return whether a variant is told apart from the baseline."""
        return told_apart(self.standing(variant)["p_holm"])


def standings_of(
    variants: Sequence[Variant], objective: str, fold: str, baseline: Variant | None, best: Variant | None
) -> tuple[Mapping[str, Mapping[str, float]], str]:
    """Return the standing of every variant with an objective by its name, and why there is none where there is none.

    Args:
        variants: The variants.
        objective: The full name of the metric.
        fold: The fold that the trials are of.
        baseline: What the others are held against.
        best: The best of them; None: none may be chosen.
    """
    done = [one for one in variants if one.done]
    if len(done) < 2:
        return {}, "there is one setting alone" if done else "no trial has an objective"
    try:
        runs = [one.evaluation(objective, fold) for one in done]
        names = (one.name if one is not None and one.done else None for one in (baseline, best))
        table = standings(runs, objective, **dict(zip(("baseline", "best"), names, strict=True)))
    except InputError as error:
        return {}, str(error)
    return {str(name): row for name, row in table.to_dict("index").items()}, ""


def seen_on_test(chosen: Path, baseline: Path | None, objective: str) -> OnTest:
    """Return the objective of two runs on test, and their difference over users.

    Args:
        chosen: The folder of the run that was chosen.
        baseline: That of the baseline; None where there is none, or where it is the chosen one.
        objective: The full name of the metric.
    """
    mean = SavedRun(chosen).metrics.get(objective, math.nan)
    if baseline is None:
        return OnTest(mean)
    try:
        row = _compared(SavedRun(baseline).evaluation, SavedRun(chosen).evaluation, objective)
    except InputError:  # on other users, or one number without values per user
        return OnTest(mean, SavedRun(baseline).metrics.get(objective, math.nan))
    ends = (float(row[name]) for name in ("difference", "difference_low", "difference_high", "p_sign_flip"))
    return OnTest(mean, SavedRun(baseline).metrics[objective], *ends)


def _compared(baseline: Evaluation, chosen: Evaluation, objective: str) -> Mapping[str, Any]:
    rows: list[dict[str, Any]] = compare(baseline, chosen, metrics=[objective]).table.to_dict("records")
    return rows[0]

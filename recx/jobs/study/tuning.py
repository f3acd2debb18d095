"""The search for the settings of a chain in a world, on the valid fold: all combinations, or Optuna's TPE."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from recx.jobs.study.plan import Choice, TuningPlan

if TYPE_CHECKING:
    from recx.config.hydra_internals import Override
    from recx.jobs.sweep.journal import Trial

Run = Callable[[int, tuple[str, ...]], "Trial"]
"""Returns the trial of a number and of the settings that it tries."""


def search(plan: TuningPlan, run: Run) -> Choice:
    """Return the settings with the highest objective; of equal ones, those that were tried first.

    If there are no more combinations than trials, each is tried. Otherwise Optuna proposes settings (TPE, Bergstra et
    al.: Algorithms for hyper-parameter optimization, 2011), the same ones for the same seed and the same figures.
    """
    from recx.config.hydra_errors import explained
    from recx.config.hydra_internals import parse

    with explained():
        parsed = parse(plan.tune)
        combinations = _combinations(parsed, plan.trials)
    tried = _all(combinations, run) if combinations else _proposed(parsed, plan, run)
    trials = list(tried)
    done = [(trial, settings) for trial, settings in trials if trial.objective is not None]
    if not done:
        return Choice(reason=f"its tuning failed: {trials[0][0].missing}")
    best, settings = max(done, key=lambda pair: (pair[0].objective or 0.0, -pair[0].number))
    return Choice(settings, best.objective)


def _combinations(parsed: list[Override], most: int) -> list[tuple[str, ...]]:
    """Return all combinations of the values; none if there are too many, or if a range is an interval."""
    from recx.config.hydra_internals import combinations, is_interval

    if any(map(is_interval, parsed)):
        return []
    found = combinations(parsed)
    return found if len(found) <= most else []


def _all(combinations: list[tuple[str, ...]], run: Run) -> Iterator[tuple[Trial, tuple[str, ...]]]:
    for number, settings in enumerate(combinations):
        yield run(number, settings), settings


def _proposed(parsed: list[Override], plan: TuningPlan, run: Run) -> Iterator[tuple[Trial, tuple[str, ...]]]:
    from recx.jobs.sweep.checks import check_installed
    from recx.jobs.sweep.plan import HYDRAS_OPTUNA

    check_installed("sweeper", HYDRAS_OPTUNA)
    import optuna

    from recx.config.hydra_internals import suggest

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=plan.seed))
    before: dict[tuple[str, ...], Trial] = {}  # TPE may propose the same settings again
    for number in range(plan.trials):
        asked = study.ask()
        for one in parsed:
            suggest(asked, one)
        settings = tuple(f"{key}={value}" for key, value in asked.params.items())
        if settings not in before:
            before[settings] = run(number, settings)
            yield before[settings], settings
        found = before[settings].objective
        study.tell(asked, found, state=None if found is not None else optuna.trial.TrialState.FAIL)

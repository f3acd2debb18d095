"""Which trial of a sweep the others are held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recx.core.errors import InputError
from recx.jobs.sweep.edited import hash_of
from recx.jobs.sweep.journal import Trial
from recx.jobs.sweep.repeats import REPEATS
from recx.jobs.sweep.summary import settings_of
from recx.jobs.sweep.variants import Variant, variants_of

AS_IT_IS, FIRST, BESIDE = "the experiment as it is", "the first trial", "run beside the search"
"""Why a trial is the baseline."""


def check_named(baseline: str, trials: Sequence[Sequence[str]]) -> None:
    """Check that a name is that of one trial of a grid.

    Args:
        baseline: The name: the number of a trial, or settings of it as in a table of the sweep.
        trials: The overrides of each trial.

    Raises:
        InputError: None of them, or several, have these settings.
    """
    planned = variants_of([Trial(number, tuple(overrides), "") for number, overrides in enumerate(trials)])
    found = named(baseline, planned)
    if len(found) != 1:
        examples = ", ".join(f"{one.trials[0].number} ({one.text})" for one in planned[:4])
        raise InputError(
            f"baseline={baseline}: {len(found) or 'none'} of the trials {'is' if not found else 'are'} that: give the "
            f"number of one, or the settings that it alone has, such as {examples}"
        )


def named(baseline: str, variants: Sequence[Variant]) -> list[Variant]:
    """Return the variants that a name fits."""
    if baseline.isdecimal():
        return [one for one in variants if int(baseline) in (trial.number for trial in one.trials)]
    wanted = dict(word.partition("=")[::2] for word in baseline.split())
    return [
        one
        for one in variants
        if all({**settings_of(one.trials[0]), **one.settings}.get(key) == value for key, value in wanted.items())
    ]


def own_of(variants: Sequence[Variant], compose: Callable[[Sequence[str]], Mapping[str, Any]]) -> Variant | None:
    """Return the variant whose settings are those of the experiment as it is; None if there is none.

    Args:
        variants: The variants of a sweep.
        compose: Returns the configuration of the experiment with further overrides.
    """
    hashes: dict[tuple[str, ...], str] = {}
    for variant in variants:
        for trial in variant.trials:
            run = tuple(f"{key}={value}" for key, value in settings_of(trial).items() if key in REPEATS)
            if run not in hashes:
                try:
                    hashes[run] = hash_of(compose(run))
                except InputError:  # it needs a setting that is varied
                    return None
            if trial.settings and trial.settings == hashes[run]:
                return variant
    return None

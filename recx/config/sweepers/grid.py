"""Hydra's sweeper over all combinations of values; a setting below a group goes with the options that have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from omegaconf import DictConfig

from recx.config import option_sources
from recx.config.hydra_internals import BasicSweeper, Override, is_deletion, is_interval, key_of, parse, typed
from recx.config.sweepers.conditional import Conditional, Finder
from recx.config.sweepers.when import Branch, as_typed, composed_value
from recx.core.errors import InputError

Trial = tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The trials of a grid.

    Attributes:
        trials: The overrides of each, as on a command line.
        base: The configuration of what does not depend on an option, with the first of its values.
        first: The configuration of the first trial, which often is the base.
        conditionals: The settings that apply with some options only, and those that every option of a group has.
    """

    trials: tuple[Trial, ...]
    base: DictConfig
    first: DictConfig
    conditionals: tuple[Conditional, ...] = ()

    def announcement(self) -> str:
        """Return one line: how many trials there are, and which settings apply where."""
        where = (
            f"{key_of(one.override)} applies to {', '.join(' '.join(taker) for taker in sorted(one.takers))} only"
            for one in self.conditionals
            if not one.everywhere
        )
        return "; ".join([f"{len(self.trials)} trial{'s' * (len(self.trials) != 1)}", *where])


def plan(
    overrides: Sequence[Override],
    compose: Callable[[Sequence[str]], DictConfig],
    branches: Sequence[Branch] = (),
    leave_out: str | None = None,
) -> Plan:
    """Return the trials of a grid.

    Args:
        overrides: Those of ``hydra.sweeper.params`` and of the command line.
        compose: Returns the configuration of overrides.
        branches: See ``hydra.sweeper.when``; a range does not go with a trial that has a value for its key already.
        leave_out: A group, such as ``feature``: every combination runs as it is, then once without each of its entries.

    Raises:
        InputError: A setting exists with none of the options, or has an interval instead of values.
    """
    values = {one.get_key_element(): _values(one) for one in overrides if not is_deletion(one)}
    composed: Callable[[Trial], DictConfig] = cache(compose)
    groups = frozenset(name.rpartition("/")[0] for name in option_sources.options()) - {""}
    finder = Finder(values, composed, groups)
    found = finder.find(overrides)
    base = composed(tuple(of_key[0] for key, of_key in values.items() if key not in found))
    removals = [one for one in overrides if is_deletion(one)]
    deleted = {typed(one): found.get(one.get_key_element()) for one in removals}
    left_out: dict[str, Conditional | None] = {}
    if leave_out is not None:
        entries = {name: None for _, config in finder.choices(f"{leave_out}.", found) for name in config[leave_out]}
        taken = [one for one in parse([f"~{leave_out}.{name}" for name in entries]) if typed(one) not in deleted]
        without = finder.find(taken)
        left_out = {typed(one): without.get(one.get_key_element()) for one in taken}
    trials: dict[Trial, None] = {}  # in which those that differ in what does not apply collapse
    for row in product(*values.values()):
        given = tuple(one for key, one in zip(values, row, strict=True) if _applies(found.get(key), row))
        gone = tuple(one for one, where in deleted.items() if _applies(where, row))
        for trial in _branched(given, branches, base):
            trials[(*trial, *gone)] = None
            trials.update({(*trial, *gone, one): None for one, where in left_out.items() if _applies(where, row)})
    return Plan(tuple(trials), base, composed(next(iter(trials))), tuple(found.values()))


_PLAN: ContextVar[Plan] = ContextVar("plan")


@contextmanager
def planned(plan: Plan) -> Iterator[None]:
    """Have the sweeper run the trials of a plan inside the context."""
    token = _PLAN.set(plan)
    try:
        yield
    finally:
        _PLAN.reset(token)


class Grid(BasicSweeper):
    """Runs every combination of the values, one after the other.

    Args:
        max_batch_size: See Hydra's basic sweeper.
        params: See Hydra's basic sweeper.
        when: See ``recx.config.sweepers.when``.
        leave_out: See ``plan``.
    """

    def __init__(
        self,
        max_batch_size: int | None = None,
        params: dict[str, str] | None = None,
        when: Mapping[str, Any] | None = None,
        leave_out: str | None = None,
    ) -> None:
        super().__init__(max_batch_size, params)
        self.when, self.leave_out = when, leave_out

    def split_arguments(  # type: ignore[override]  # static there, though always called on an object
        self, overrides: list[Override], max_batch_size: int | None
    ) -> list[list[list[str]]]:
        """Return the overrides of every trial, in batches: those that were planned, as Hydra does not see all."""
        trials = list(map(list, _PLAN.get().trials))
        return list(self.split_overrides_to_chunks(trials, max_batch_size)) if trials else []

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        """Compose one trial of each combination of options before any runs, which finds misspelt options.

        Hydra's own method composes every trial twice; other errors are reported by the trial itself.
        """
        of_options = {tuple(one for one in trial if "." not in one.partition("=")[0]): trial for trial in batch}
        super().validate_batch_is_legal(list(of_options.values()))


def _values(override: Override) -> list[str]:
    """Return an override with each of its values."""
    if is_interval(override):
        raise InputError(
            f"{typed(override)}: a grid runs values, not an interval: write {key_of(override)}=A,B, or let Optuna "
            "choose with hydra/sweeper=optuna"
        )
    [combinations] = BasicSweeper.split_arguments([override], None)
    if not combinations:
        raise InputError(f"{typed(override)}: no option matches: see `python -m recx list {key_of(override)}`")
    return [one for [one] in combinations]


def _applies(where: Conditional | None, row: Sequence[str]) -> bool:
    return where is None or where.applies(row)


def _branched(trial: Trial, branches: Sequence[Branch], base: DictConfig) -> list[Trial]:
    """Return a trial with each combination of the values that the branches add to it."""
    trials = [trial]
    for branch in branches:
        trials = [more for one in trials for more in _extended(one, branch, base)]
    return trials


def _extended(trial: Trial, branch: Branch, base: DictConfig) -> Iterator[Trial]:
    known = {key.lstrip("+"): as_typed(value) for key, _, value in (one.partition("=") for one in trial)}
    applies = branch.applies(known[branch.key] if branch.key in known else composed_value(base, branch.key))
    added = [_values(one) for one in branch.ranges if key_of(one) not in known] if applies else []
    yield from ((*trial, *values) for values in product(*added))

"""The overrides of a sweep, parsed, with what its preset adds, and the trials of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from recx.config.hydra_internals import Override
    from recx.config.sweepers.grid import Plan

GRID = "recx.config.sweepers.grid.Grid"


@dataclass(frozen=True)
class Words:
    """A command line of a sweep, with what its preset adds.

    Attributes:
        overrides: All of them, parsed, the sweeper's included.
        base: A configuration of the sweep.
        first: The configuration of the first trial; an Optuna search may start anywhere, here with the first values.
        grid: The trials, if the sweeper is the grid.
    """

    overrides: Sequence[Override]
    base: DictConfig
    first: DictConfig
    grid: Plan | None = None


def read(overrides: Sequence[str]) -> Words:
    """Return the words of a sweep, and its trials if they are known before it starts.

    Raises:
        InputError: One of them is wrong, or a setting exists with none of the options that the sweep varies.
    """
    from recx.config.compose import compose, prepare
    from recx.config.hydra_errors import explained
    from recx.config.hydra_internals import first_value, is_of_hydra, key_of, parse, typed
    from recx.config.sweepers import grid
    from recx.config.sweepers.when import branches

    with explained():
        given = parse(overrides, prepare())
    # settings of parts, with dots, may exist with some options only, and say nothing of the sweeper
    sweeper = compose([first_value(one) for one in given if is_of_hydra(one) or "." not in key_of(one)]).hydra.sweeper
    with explained():
        more = parse([f"{key}={values}" for key, values in (sweeper.get("params") or {}).items()], prepare())
        ranges = branches(sweeper.get("when"))
    parsed = [*(one for one in more if key_of(one) not in map(key_of, given)), *given]
    if sweeper._target_ != GRID:
        composed = compose([first_value(one) for one in parsed])
        return Words(parsed, composed, composed)
    hydras = [typed(one) for one in parsed if is_of_hydra(one)]
    tasks = [one for one in parsed if not is_of_hydra(one)]
    found = grid.plan(tasks, lambda trial: compose([*hydras, *trial]), ranges, sweeper.get("leave_out"))
    return Words(parsed, found.base, found.first, found)

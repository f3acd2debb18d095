"""The cells of a study: one run of a chain in a world with a seed, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recx.core.evaluation import Evaluation


Pair = tuple[str, str]
"""Chain and world."""
Key = tuple[str, str, int]
"""Chain, world and seed."""


@dataclass(frozen=True)
class Cell:
    """One run of a study.

    Attributes:
        chain: The name of its chain.
        world: The name of its world.
        seed: Its seed.
        overrides: The overrides that it is composed of.
    """

    chain: str
    world: str
    seed: int
    overrides: tuple[str, ...]

    @property
    def pair(self) -> Pair:
        """Its chain and its world."""
        return self.chain, self.world

    @property
    def key(self) -> Key:
        """Its chain, its world and its seed."""
        return self.chain, self.world, self.seed


@dataclass(frozen=True)
class CellOutcome:
    """What came of a cell.

    Attributes:
        cell: The cell.
        folder: The folder of its run, for ``recx.results.load``; None where there is none.
        evaluation: The figures of the test fold, with values per user; None where the run failed.
        seconds: Wall-clock time; NaN where it is unknown.
        memory: Peak memory of its process in bytes; 0 where it is unknown.
        reason: Why it failed, in one sentence; "" where it did not.
    """

    cell: Cell
    folder: Path | None
    evaluation: Evaluation | None
    seconds: float
    memory: int
    reason: str = ""

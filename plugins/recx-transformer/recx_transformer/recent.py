"""Counts of recent clicks with exponential decay: what is popular now, which an item's vector cannot express."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from recx.plugin import Array, Floats, Longs

FLOOR = 0.05
"""A negligible number of clicks: scores grow with log(1 + clicks / FLOOR)."""

CELLS = 64_000_000
"""The maximum of moments x items whose counts are kept in training (128 MB)."""

FADED = 50
"""Half-lives after which a click no longer counts."""


@dataclass(frozen=True, eq=False)
class Fading:
    """Counts clicks that lose half their weight with every half-life.

    Attributes:
        time: The time of each click in ms, int64 [n], ascending.
        item: The item of each click [n].
        n_items: The number of items.
        half_lives: The half-lives in ms.
    """

    time: Longs
    item: Array
    n_items: int
    half_lives: tuple[int, ...]

    @classmethod
    def of(cls, time: Longs, item: Array, n_items: int, half_lives: tuple[int, ...]) -> Fading:
        """Return the counter of clicks given in any order."""
        order = np.argsort(time, kind="stable")
        return cls(time[order], item[order], n_items, half_lives)

    def as_of(self, moments: Longs) -> list[Floats]:
        """Return log(1 + clicks / FLOOR) before each moment.

        Args:
            moments: Times in ms, ascending [n_moments].

        Returns:
            float32 [n_moments, n_items] per half-life.
        """
        return [self._as_of(moments, half_life) for half_life in self.half_lives]

    def _as_of(self, moments: Longs, half_life: int) -> Floats:
        counts = np.zeros((len(moments), self.n_items), dtype=np.float32)
        if not len(moments):
            return counts
        clicks = np.zeros(self.n_items)
        done, now = int(np.searchsorted(self.time, moments[0] - FADED * half_life)), moments[0]
        for row, (moment, known) in enumerate(zip(moments, np.searchsorted(self.time, moments), strict=True)):
            clicks *= np.exp2((now - moment) / half_life)
            np.add.at(clicks, self.item[done:known], np.exp2((self.time[done:known] - moment) / half_life))
            counts[row] = clicks
            done, now = known, moment
        counts /= FLOOR
        return np.log1p(counts, out=counts)


@dataclass(frozen=True, eq=False)
class Recent:
    """Logarithms of recent clicks at the moments of training.

    Attributes:
        table: One table [n_moments, n_items] per half-life.
    """

    table: tuple[Tensor, ...]

    @classmethod
    def of(cls, fading: Fading, dtype: torch.dtype) -> tuple[Recent, Longs]:
        """Return the tables and their moments (ms, ascending), spread evenly over the clicks: busy hours get many."""
        n = len(fading.time)
        number = int(np.clip(CELLS // (fading.n_items * len(fading.half_lives)), 1, n))
        moments = np.unique(fading.time[np.arange(number) * n // number])
        return cls(tuple(torch.from_numpy(counts).to(dtype) for counts in fading.as_of(moments))), moments

    def to(self, device: torch.device) -> Recent:
        """Return the tables on a device."""
        return Recent(tuple(table.to(device) for table in self.table))

    def at(self, moment: Tensor, item: Tensor) -> Tensor:
        """Return [..., n_half_lives] for moments (rows of the tables) and items, which are broadcast."""
        return torch.stack([table[moment, item] for table in self.table], dim=-1).float()

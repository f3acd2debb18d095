"""Clicks that fade with time, counted as of a moment: what is read now, which no vector of an article can know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from recx.plugin import Array, Floats, Longs

FLOOR = 0.05
"""Clicks that are next to none: scores grow with log(1 + clicks / FLOOR)."""

CELLS = 64_000_000
"""Most moments x items for which counts are kept while training (128 MB)."""

FADED = 50
"""Half-lives after which a click counts no more."""


@dataclass(frozen=True, eq=False)
class Fading:
    """Counts clicks that lose half their weight with every half-life.

    time: int64 ms, rising, and item: of every click [n]. half_lives: ms.
    """

    time: Longs
    item: Array
    n_items: int
    half_lives: tuple[int, ...]

    @classmethod
    def of(cls, time: Longs, item: Array, n_items: int, half_lives: tuple[int, ...]) -> Fading:
        """Return the clock of clicks that may stand in any order."""
        order = np.argsort(time, kind="stable")
        return cls(time[order], item[order], n_items, half_lives)

    def as_of(self, asked: Longs) -> list[Floats]:
        """Return log(1 + clicks / FLOOR) before each moment (ms, rising), float32 [n_asked, n_items] a half-life."""
        return [self._as_of(asked, half_life) for half_life in self.half_lives]

    def _as_of(self, asked: Longs, half_life: int) -> Floats:
        counts = np.zeros((len(asked), self.n_items), dtype=np.float32)
        if not len(asked):
            return counts
        clicks = np.zeros(self.n_items)
        done, now = int(np.searchsorted(self.time, asked[0] - FADED * half_life)), asked[0]
        for line, (moment, known) in enumerate(zip(asked, np.searchsorted(self.time, asked), strict=True)):
            clicks *= np.exp2((now - moment) / half_life)
            np.add.at(clicks, self.item[done:known], np.exp2((self.time[done:known] - moment) / half_life))
            counts[line] = clicks
            done, now = known, moment
        counts /= FLOOR
        return np.log1p(counts, out=counts)


@dataclass(frozen=True, eq=False)
class Recent:
    """Logarithms of recent clicks at the moments of training [n_moments, n_items], one table a half-life."""

    table: tuple[Tensor, ...]

    @classmethod
    def of(cls, fading: Fading, dtype: torch.dtype) -> tuple[Recent, Longs]:
        """Return the tables and their moments, ms, rising: spread evenly over the clicks, so a busy hour has many."""
        n = len(fading.time)
        number = int(np.clip(CELLS // (fading.n_items * len(fading.half_lives)), 1, n))
        moments = np.unique(fading.time[np.arange(number) * n // number])
        return cls(tuple(torch.from_numpy(counts).to(dtype) for counts in fading.as_of(moments))), moments

    def to(self, device: torch.device) -> Recent:
        """Return the same on a device."""
        return Recent(tuple(table.to(device) for table in self.table))

    def at(self, moment: Tensor, item: Tensor) -> Tensor:
        """Return [..., n_half_lives] for moments and items that broadcast against each other."""
        return torch.stack([table[moment, item] for table in self.table], dim=-1).float()

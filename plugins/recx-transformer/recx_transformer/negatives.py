"""Negatives: items drawn for the losses that look at a sample, and the expected count of each in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from recx.plugin import Doubles, Longs
from recx_transformer.settings import Settings


@dataclass(frozen=True, eq=False)
class Negatives:
    """Draws items with replacement: some from all, some from the batch's targets, some by popularity.

    Attributes:
        from_all: The number of those that are drawn uniformly from all items.
        from_batch: The number of those that are drawn from the batch's targets.
        by_popularity: The number of those that are drawn by popularity.
        share: The share of each item among the targets of training [n_items].
        popularity: The probability of each item when drawn by popularity [n_items].
        cumulative: The cumulative sums of ``popularity``, in main memory, float64 [n_items].
    """

    from_all: int
    from_batch: int
    by_popularity: int
    share: Tensor
    popularity: Tensor
    cumulative: Doubles

    @classmethod
    def of(cls, settings: Settings, targets: Longs, clicks: Longs, device: torch.device) -> Negatives:
        """Return the draws of a training.

        Args:
            settings: The settings, of which ``negatives``, ``sampling`` and ``popularity_power`` count.
            targets: The number of targets with each item [n_items].
            clicks: The number of events with each item, 1 or more [n_items].
            device: The device of the training.
        """
        k = settings.negatives
        from_all, from_batch, by_popularity = {
            "uniform": (k, 0, 0),
            "in_batch": (0, k, 0),
            "popularity": (0, 0, k),
            "mixed": (k // 2, k - k // 2, 0),
        }[settings.sampling]
        weight = clicks.astype(np.float64) ** settings.popularity_power
        probability = weight / max(1.0, weight.sum())
        return cls(
            from_all=from_all,
            from_batch=from_batch,
            by_popularity=by_popularity,
            share=torch.from_numpy(targets / max(1, targets.sum())).float().to(device),
            popularity=torch.from_numpy(probability).float().to(device),
            cumulative=np.cumsum(probability),
        )

    def draw(self, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return items that all positions share, int64 [negatives], and the expected count of each in the sample.

        Args:
            target: The targets of the batch, int64 [n].
        """
        device, n = self.share.device, len(self.share)
        from_batch = target[torch.randint(len(target), (self.from_batch,)).to(device)]
        from_all = self.uniform(self.from_all)
        place = np.searchsorted(
            self.cumulative, torch.rand(self.by_popularity, dtype=torch.float64).numpy(), side="right"
        )
        popular = torch.from_numpy(np.minimum(place, n - 1)).to(device)
        negative = torch.cat([from_all, from_batch, popular])
        expected = self.from_batch * self.share[negative] + self.by_popularity * self.popularity[negative]
        return negative, self.from_all / n + expected

    def uniform(self, *shape: int) -> Tensor:
        """Return items drawn uniformly from all, int64 of this shape."""
        return torch.randint(len(self.share), shape).to(self.share.device)

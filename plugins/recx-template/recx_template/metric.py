"""A metric: one number per user, from the lists and the targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import Doubles, JudgedLists, PositiveInt, checked


@dataclass(frozen=True)
@checked("metric")  # checks each setting against its annotation
class AllShown:
    """1 if every target is among the first k, else 0.

    Attributes:
        k: The cut.
    """

    k: PositiveInt = 10

    @property
    def name(self) -> str:
        return f"template_all_shown_at_{self.k}"

    def __call__(self, judged: JudgedLists) -> Doubles:
        return np.where(judged.shown(self.k) == judged.n_targets, 1.0, 0.0)

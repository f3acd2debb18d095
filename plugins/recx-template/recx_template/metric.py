"""A metric: one number per user, from the lists and the targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import Doubles, JudgedLists, PositiveInt, checked


@dataclass(frozen=True)
@checked("metric")  # checks each setting against its annotation
class CappedRecall:
    """Targets among the first k / min(k, targets), so that 1 can be reached for any k.

    Attributes:
        k: The cut.
    """

    k: PositiveInt = 10

    @property
    def name(self) -> str:
        return f"template_capped_recall_at_{self.k}"

    def __call__(self, judged: JudgedLists) -> Doubles:
        return judged.shown(self.k) / np.minimum(self.k, judged.n_targets)

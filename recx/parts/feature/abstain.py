"""Whether a candidate stands for no answer: its weight is what any answer must beat, learned with all others.

Known: which item of the data stands for no answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.abstaining import abstains
from recx.core.protocols import FittedFeature
from recx.core.types import Interactions
from recx.parts.feature.fitted import PerItem


@dataclass(frozen=True)
class IsAbstain:
    """1 for the item that stands for no answer, else 0; 0 for all where the data has no such item."""

    def fit(self, history: Interactions) -> FittedFeature:
        return PerItem(abstains(history.items).astype(np.float32))

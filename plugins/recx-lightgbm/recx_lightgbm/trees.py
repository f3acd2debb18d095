"""The trees of LightGBM, kept in its text format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lightgbm import Booster
from lightgbm.basic import LightGBMError

from recx.plugin import InputError, read_text, write_text

FILE = "model.txt"
LARGEST = 2**30  # bytes of the text


@dataclass(frozen=True, eq=False)
class Trees:
    """Grown trees.

    Attributes:
        booster: LightGBM's object.
    """

    booster: Booster

    def shares(self, names: Sequence[str]) -> dict[str, float]:
        """Return each feature's share of the total gain of all splits, largest first; all 0 without splits."""
        gained = self.booster.feature_importance("gain")
        share = gained / max(gained.sum(), np.finfo(np.float64).tiny)
        return {names[feature]: float(share[feature]) for feature in np.argsort(-share, kind="stable")}

    def save(self, folder: Path) -> None:
        """Write the trees into a folder."""
        write_text(folder / FILE, self.booster.model_to_string())

    @classmethod
    def load(cls, folder: Path) -> Trees:
        """Return the trees of a folder.

        Raises:
            InputError: The file is missing or damaged.
        """
        try:
            return cls(Booster(model_str=read_text(folder / FILE, LARGEST)))
        except (OSError, ValueError, LightGBMError) as error:
            raise InputError(
                f"{folder / FILE} contains no trees that can be read ({type(error).__name__}): run the experiment again"
            ) from error

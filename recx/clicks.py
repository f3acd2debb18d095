"""Click models: what items are worth by a log of what was shown where and clicked. ``recx.clicks.fit(log)``."""

from __future__ import annotations

from recx.evaluation.clicks.fit import fit
from recx.evaluation.clicks.fitted import ClickModel

__all__ = ["ClickModel", "fit"]

"""The meaning of each built-in metric, in one sentence: for the protocol card and `python -m recx list metric`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_TEXTS = tomllib.loads(Path(__file__).with_name("definitions.toml").read_text(encoding="utf-8"))
METRICS: dict[str, str] = _TEXTS["metrics"]
"""Name without ``_at_k`` -> definition, per user unless it says otherwise; without ``_at_k`` the list is not cut."""
SAMPLED: dict[str, str] = {
    **{f"{name}_sampled_N": f"{text}; never comparable with {name}" for name, text in _TEXTS["sampled"].items()},
    **{
        f"{name}_sampled_N_corrected": f"estimate of the mean of {name} over all items, for uniform sampling"
        for name in _TEXTS["sampled"]
    },
}
"""The same for metrics of sampled items, N of them for each user."""
TRACES: dict[str, str] = _TEXTS["traces"]
"""The same for the figures of whole traces."""
CLICKS: dict[str, str] = _TEXTS["clicks"]
"""The same for the figures of evaluator=ctr, over the rows of all requests together."""
FUNNEL: dict[str, str] = _TEXTS["funnel"]
"""The same for the figures of a search and between the stages."""
CALIBRATION: dict[str, str] = _TEXTS["calibration"]
"""The same for ``calibration/``, over the rows of all held-out users together."""
DRIFT: dict[str, str] = _TEXTS["drift"]
"""The same for how far a distribution has moved."""


def definition(bare: str) -> str:
    """Return the definition of a metric by its name without stage and without ``_at_k`` at its end; "" if unknown."""
    sampled = re.sub(r"(_at_\d+)?_sampled_\d+", "_sampled_N", bare)
    return {**METRICS, **CLICKS, **TRACES, **FUNNEL, **SAMPLED, **CALIBRATION}.get(sampled, "")

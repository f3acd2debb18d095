"""The meaning of each built-in metric, in one sentence: for the protocol card and `python -m recx list metric`."""

from __future__ import annotations

import tomllib
from pathlib import Path

_TEXTS = tomllib.loads(Path(__file__).with_name("definitions.toml").read_text(encoding="utf-8"))
METRICS: dict[str, str] = _TEXTS["metrics"]
"""Name without ``_at_k`` -> definition, per user unless it says otherwise; without ``_at_k`` the list is not cut."""
FUNNEL: dict[str, str] = _TEXTS["funnel"]
"""The same for the figures of a search and between the stages."""

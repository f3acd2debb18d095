"""How numbers and names are written, the same in the terminal, on pages and in tables for papers."""

from __future__ import annotations

import math
from typing import TypeGuard

from rich.cells import cell_len, set_cell_size

ABSENT = "–"
"""What is shown instead of a missing number."""
QUESTIONS = {
    "retrieval": "are the right items among the candidates?",
    "ranking": "are the retrieved targets ranked first?",
    "end_to_end": "do users get the right items?",
    "funnel": "where are hits lost, and what does the ranker add?",
}
"""What the figures of each stage answer."""


def figure(value: float | None, sign: str = "", digits: int | None = None) -> str:
    """Return a figure.

    Args:
        value: A number; None, NaN and infinity are shown as absent.
        sign: "+" to show the sign of positive numbers as well.
        digits: Decimals; None for four, and none from 1,000 on.
    """
    if not _is_number(value):
        return ABSENT
    decimals = (4 if abs(value) < 1000 else 0) if digits is None else digits
    return f"{value:{sign}z,.{decimals}f}"


def count(value: float | None) -> str:
    """Return a count with thousands separators; a mean of counts with four significant digits."""
    if not _is_number(value):
        return ABSENT
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}"


def significant(value: float | None) -> str:
    """Return a measurement with four significant digits."""
    return f"{value:,.4g}" if _is_number(value) and abs(value) < 10_000 else count(value)


def percent(value: float | None, sign: str = "") -> str:
    """Return a share in percent; one that would be rounded to zero is shown as below 0.1 %."""
    if not _is_number(value):
        return ABSENT
    return "<0.1 %" if 0 < value < 0.0005 and not sign else f"{100 * value:{sign}z.1f} %"


def p_value(value: float | None) -> str:
    """Return a p-value with four decimals."""
    return ABSENT if not _is_number(value) else "<.0001" if value < 0.0001 else f"{value:.4f}"


def words(name: object) -> str:
    """Return a name with spaces instead of underscores."""
    return str(name).replace("_", " ")


def cut(text: str, longest: int) -> str:
    """Return a text of at most ``longest`` terminal cells, of which a Chinese character takes two."""
    return text if cell_len(text) <= longest else f"{set_cell_size(text, max(longest - 1, 0)).rstrip()}…"


def _is_number(value: float | None) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)

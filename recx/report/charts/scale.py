"""Numbers in charts: which of them can be shown, how they are written, and where they lie along an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from recx.report.terminal.formats import ABSENT

LARGEST, SMALLEST = 1e100, 1e-100
"""Beyond these a number cannot be shown to scale: it is a gap, or zero."""
STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """An axis.

    Attributes:
        low: The value at its start.
        high: The value at its end.
        start: Where it starts, in units of the picture.
        end: Where it ends, in units of the picture.
        ticks: The values that are marked on it.
        log: Whether it is logarithmic.
        names: What is written at the ticks instead of numbers.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...] = ()
    log: bool = False
    names: tuple[str, ...] = ()

    def at(self, value: float) -> float:
        """Return where a value lies, in units of the picture."""
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        place = math.log10(value) if self.log else value
        return self.start + (place - low) / (high - low) * (self.end - self.start)

    def labels(self) -> list[str]:
        """Return the labels of the ticks; on a linear axis all have the same number of decimals."""
        return list(self.names) or [
            tick_label(tick, tick if self.log else self.ticks[1] - self.ticks[0]) for tick in self.ticks
        ]


def linear(values: Iterable[float], start: float, end: float, *, n: int = 5, zero: bool = False) -> Scale:
    """Return an axis around values that ends at ticks, which are multiples of 1, 2 or 5 times a power of ten.

    Args:
        values: What it must contain.
        start: Where it starts, in units of the picture.
        end: Where it ends, in units of the picture.
        n: Approximate number of steps.
        zero: Whether it contains zero in any case; otherwise only if the values come near it.
    """
    low, high = span(values, zero)
    step = _nice((high - low) / n)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(place * step for place in range(first, max(last, first + 1) + 1))
    return Scale(ticks[0], ticks[-1], start, end, ticks)


def logarithmic(values: Iterable[float], start: float, end: float, *, n: int = 6) -> Scale:
    """Return an axis by powers of ten around positive values, with ticks at 2 and 5 in between if there is room."""
    above = [value for value in values if value > SMALLEST] or [1.0]
    first, last = math.floor(math.log10(min(above)) + 1e-9), math.ceil(math.log10(max(above)) - 1e-9)
    last = max(last, first + 1)
    every = math.ceil((last - first) / n)
    powers = range(first, last + every, every)
    steps = STEPS[:3] if 3 * (last - first) <= n else STEPS[:1]
    ticks = [step * 10.0**power for power in powers for step in steps]
    inside = [tick for tick in ticks if tick <= 10.0 ** powers[-1] * 1.000001]
    low = max((tick for tick in inside if tick <= min(above) * 1.000001), default=inside[0])
    high = min((tick for tick in inside if tick >= max(above) * 0.999999 and tick > low), default=inside[-1])
    shown = tuple(tick for tick in inside if low <= tick <= high)
    return Scale(low, high, start, end, shown, log=True)


def finite(value: float | None) -> TypeGuard[float]:
    """Return whether a number can be shown: neither missing, nor infinite, nor too large."""
    return value is not None and math.isfinite(value) and abs(value) < LARGEST


def number(value: float | None) -> str:
    """Return a number with four significant digits, integers in full; a dash if it is missing."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if abs(value) >= 1e15 or 0 < abs(value) < 1e-4:
        return f"{value:.3g}"
    if value == round(value) or abs(value) >= 1000:
        return f"{value:z,.0f}"
    return f"{value:z.{3 - math.floor(math.log10(abs(value)))}f}" if abs(value) >= 1 else f"{value:z.4f}"


def alike(values: Sequence[float | None]) -> list[str]:
    """Return numbers that all have as many decimals as give the largest four significant digits."""
    known = [value for value in values if finite(value)]
    largest = max(map(abs, known), default=0.0)
    whole = all(value == round(value) for value in known)
    digits = 0 if whole or largest < SMALLEST else min(max(3 - math.floor(math.log10(largest)), 0), 12)
    plain = largest < 1e15 and (whole or largest >= 1e-8)
    return [f"{value:z,.{digits}f}" if plain and finite(value) else number(value) for value in values]


def tick_label(tick: float, step: float) -> str:
    """Return the label of a tick, with as many decimals as its step has."""
    if abs(tick) >= 1e9 or step < 1e-6:
        return "0" if abs(tick) < step / 2 else f"{tick:.4g}"
    return f"{tick:z,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def thinned(points: Sequence[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """Return at most about ``most`` points: both ends, and the lowest and highest of every equal part in between."""
    n, parts = len(points), max(most // 2 - 1, 1)
    if n <= most:
        return list(points)

    def height(place: int) -> float:
        return points[place][1]

    kept = {0, n - 1}
    for part in range(parts):
        places = range(part * n // parts, (part + 1) * n // parts)
        known = [place for place in places if finite(height(place))] or places[:1]
        kept |= {min(known, key=height), max(known, key=height)}
    return [points[place] for place in sorted(kept)]


def span(values: Iterable[float], zero: bool) -> tuple[float, float]:
    """Return the lowest and highest value, never equal; with zero if ``zero`` or if the values come near it."""
    known = list(values) or [0.0, 1.0]
    low, high = min(known), max(known)
    if zero or 0 <= low <= high / 2:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= max(1e-9 * max(abs(low), abs(high)), SMALLEST):
        room = abs(high) / 2 if abs(high) > SMALLEST else 0.5
        low, high = (low, high + room) if 0 <= low <= SMALLEST else (low - room, high + room)
    return low, high


def _nice(step: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is not below the step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next((nice * power for nice in STEPS if step <= nice * power * 1.000001), 10 * power)

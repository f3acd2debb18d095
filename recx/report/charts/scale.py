"""Numbers on paper: which of them can be shown, how they are written, and where they lie along an axis."""

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
    """An axis: the value ``low`` lies at ``start`` and ``high`` at ``end`` of the picture.

    ``ticks`` are values; ``names`` are what stands at them in place of numbers.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    log: bool = False
    names: tuple[str, ...] = ()

    def at(self, value: float) -> float:
        """Return where a value lies, in units of the picture."""
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        place = math.log10(value) if self.log else value
        return self.start + (place - low) / (high - low) * (self.end - self.start)

    def labels(self) -> list[str]:
        """Return the ticks in words, all of a linear axis with the same decimals."""
        return list(self.names) or [
            tick_label(tick, tick if self.log else self.ticks[1] - self.ticks[0]) for tick in self.ticks
        ]


def linear(values: Iterable[float], start: float, end: float, *, n: int = 5, zero: bool = False) -> Scale:
    """Return an axis around values, ended by ticks that are multiples of 1, 2 or 5 times a power of ten.

    ``n``: about how many steps. ``zero``: the axis holds zero; otherwise it does where the values come near it.
    """
    low, high = _span(values, zero)
    step = _nice((high - low) / n)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(place * step for place in range(first, max(last, first + 1) + 1))
    return Scale(ticks[0], ticks[-1], start, end, ticks)


def exact(values: Iterable[float], start: float, end: float) -> Scale:
    """Return an axis that ends where the values and zero end, for what has no ticks."""
    low, high = _span(values, zero=True)
    return Scale(low, high, start, end, (low, high))


def logarithmic(values: Iterable[float], start: float, end: float, *, n: int = 6) -> Scale:
    """Return an axis by powers of ten around values above zero; in between 2 and 5, as long as there is room."""
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
    """Return whether a number can be shown: neither missing, nor infinite, nor beyond all measure."""
    return value is not None and math.isfinite(value) and abs(value) < LARGEST


def number(value: float | None) -> str:
    """Return a number in words, with four significant digits, whole numbers as they are; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if abs(value) >= 1e15 or 0 < abs(value) < 1e-4:
        return f"{value:.3g}"
    if value == round(value) or abs(value) >= 1000:
        return f"{value:z,.0f}"
    return f"{value:z.{3 - math.floor(math.log10(abs(value)))}f}" if abs(value) >= 1 else f"{value:z.4f}"


def alike(values: Sequence[float | None]) -> list[str]:
    """Return numbers in words, all with the decimals that give the largest four significant digits."""
    known = [value for value in values if finite(value)]
    largest = max(map(abs, known), default=0.0)
    whole = all(value == round(value) for value in known)
    digits = 0 if whole or largest < SMALLEST else min(max(3 - math.floor(math.log10(largest)), 0), 12)
    plain = largest < 1e15 and (whole or largest >= 1e-8)
    return [f"{value:z,.{digits}f}" if plain and finite(value) else number(value) for value in values]


def tick_label(tick: float, step: float) -> str:
    """Return a tick in words, with as many decimals as its step has."""
    if abs(tick) >= 1e9 or step < 1e-6:
        return "0" if abs(tick) < step / 2 else f"{tick:.4g}"
    return f"{tick:z,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def thinned(points: Sequence[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """Return at most about ``most`` points: both ends, and the lowest and the highest of every equal part between."""
    if len(points) <= most:
        return list(points)
    parts = max(most // 2 - 1, 1)

    def height(place: int) -> float:
        return points[place][1]

    kept = {0, len(points) - 1}
    for part in range(parts):
        places = range(part * len(points) // parts, (part + 1) * len(points) // parts)
        known = [place for place in places if finite(points[place][1])]
        kept |= (
            {min(known, key=lambda place: points[place][1]), max(known, key=lambda place: points[place][1])}
            if (known)
            else {places[0]}
        )
    return [points[place] for place in sorted(kept)]


def _span(values: Iterable[float], zero: bool) -> tuple[float, float]:
    """Return the ends of values, never equal, with zero where it belongs."""
    known = list(values) or [0.0, 1.0]
    low, high = min(known), max(known)
    if zero or 0 <= low <= high / 2:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= max(1e-9 * max(abs(low), abs(high)), SMALLEST):
        room = abs(high) / 2 if abs(high) > SMALLEST else 0.5
        low, high = (low, high + room) if low >= 0 and low <= SMALLEST else (low - room, high + room)
    return low, high


def _nice(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten, the first that is not below the step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next((nice * power for nice in STEPS if step <= nice * power * 1.000001), 10 * power)

"""The limits that a person sets for the figures of a window, and which of them were crossed."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from recx.core.errors import InputError, did_you_mean

DRIFT = "drift/"
FORM = r"\s*([\w/*?.+-]+)\s*([<>])\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"


@dataclass(frozen=True)
class Limit:
    """A limit, such as ``end_to_end/ndcg_at_5<0.2`` or ``drift/*>0.25``.

    Attributes:
        text: How it was written.
        names: The figure, or a pattern of several.
        below: Whether the alarm is raised below the bound; else above it.
        bound: The bound.
    """

    text: str
    names: str
    below: bool
    bound: float

    @classmethod
    def of(cls, text: str) -> Limit:
        """Read a limit.

        Raises:
            InputError: It is none.
        """
        found = re.fullmatch(FORM, text)
        if found is None:
            raise InputError(
                f"--alarm {text!r}: write a figure, < or > and a number, such as 'end_to_end/ndcg_at_5<0.2' or "
                "'drift/*>0.25', in quotes"
            )
        return cls(text.strip(), found[1], found[2] == "<", float(found[3]))

    def crossed(self, value: float) -> bool:
        """Return whether a figure is beyond the bound; one that is missing is not."""
        return not math.isnan(value) and (value < self.bound if self.below else value > self.bound)


@dataclass(frozen=True)
class Alarm:
    """A limit that was crossed.

    Attributes:
        limit: The limit, as it was written.
        window: The number of the window.
        figure: The name of the figure.
        value: Its value.
    """

    limit: str
    window: int
    figure: str
    value: float


def check_names(limits: Sequence[Limit], names: Collection[str]) -> None:
    """Check that each limit is of a figure that there is.

    Raises:
        InputError: It is not.
    """
    for limit in limits:
        if not any(fnmatchcase(name, limit.names) for name in names):
            raise InputError(f"--alarm {limit.text}: no figure has this name: {did_you_mean(limit.names, names)}")


def raised(
    limits: Sequence[Limit], window: int, figures: Mapping[str, float], noise: Mapping[str, float]
) -> Iterator[Alarm]:
    """Yield the alarms of a window.

    Args:
        limits: The limits.
        window: The number of the window.
        figures: Its figures by name.
        noise: Figures of drift -> what they exceed by chance; an upper limit is not crossed below that.
    """
    for limit in limits:
        for name, value in figures.items():
            if not fnmatchcase(name, limit.names) or not limit.crossed(value):
                continue
            if limit.below or not value <= noise.get(name, -math.inf):
                yield Alarm(limit.text, window, name, value)

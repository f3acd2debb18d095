"""Settings in which trials of one chain may differ and still be one setting of a sweep: its seeds and its folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recx.core.errors import InputError

SEED, PART, SKIP, POSITION = "seed", "split.part", "split.skip", "split.position"


@dataclass(frozen=True)
class Repeat:
    """What trials that differ in one setting are called, and what is averaged over them.

    Attributes:
        name: What one of them is called.
        each_once: Whether the figure of all is the mean in which each user counts once, and not the mean of theirs.
        trend: Whether their order means something; the sign is that of the setting.
    """

    name: str
    each_once: bool = False
    trend: int = 0


REPEATS: Mapping[str, Repeat] = {
    SEED: Repeat("seed"),
    PART: Repeat("part", each_once=True),
    SKIP: Repeat("window", trend=-1),  # that with the least is the latest
    POSITION: Repeat("position", each_once=True, trend=1),
}
"""By the key of the setting."""
FOLDS = frozenset(REPEATS) - {SEED}


def check_folds(varied: tuple[str, ...], fold: str, tuning: bool) -> None:
    """Raise InputError if a setting would be chosen on parts each of which is another one's test fold."""
    if PART in varied and fold == "valid" and not tuning:
        raise InputError(
            f"fold=valid with several values of {PART}: each part is the test fold of one run, so to choose by all of "
            f"them would be tuning on test: compare on fold=test, or give {PART} one value"
        )

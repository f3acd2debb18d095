"""Finds ids that were rounded on their way, when they passed through floats or a spreadsheet."""

from __future__ import annotations

import numpy as np

from recx.core.types import Array

LEAST = 10**15  # every whole number below survives a float, and has no more than the 15 digits of a spreadsheet
LUCK = 20  # bits: that ids are so round by chance is then one in a million


def lost_precision(ids: Array) -> int:
    """Count ids [n] that were rounded: written as 1.2345e+18 or 17.0, or long whole numbers that end too roundly.

    A float64 keeps 53 bits of a whole number, JavaScript prints 16 or 17 of its digits, a spreadsheet keeps 15.
    """
    if ids.dtype.kind in "iu":
        return _rounded(np.abs(ids).astype(np.uint64))
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pa.array(ids.tolist(), pa.large_string())
    floats = pc.match_substring_regex(words, r"^-?\d(\.\d+)?[eE]\+\d+$|^-?\d+\.0+$")
    long = words.filter(pc.match_substring_regex(words, r"^[1-9]\d{15,18}$"))
    return int(pc.sum(floats).as_py() or 0) + _rounded(np.array(long.to_pylist(), dtype=np.uint64))


def _rounded(ids: Array) -> int:
    large = ids[ids >= LEAST]
    size = large.astype(np.float64)
    bits = np.maximum(np.frexp(size)[1] - 53, 0)
    digits = np.floor(np.log10(size)).astype(np.int64) + 1
    steps = [(2, bits), *((10, np.maximum(digits - kept, 0)) for kept in (15, 16, 17))]
    return max(_multiples(large, base, power.astype(np.uint64)) for base, power in steps)


def _multiples(ids: Array, base: int, power: Array) -> int:
    """Count ids that are multiples of ``base ** power`` [n] each, if they are many more than chance would have it.

    0 where most are multiples of a higher power too: those were made round, and nothing was cut off.
    """
    step = np.uint64(base) ** power
    long = step > 1
    cut = long & (ids % step == 0)
    by_chance = float((1 / step[long]).sum())
    luck = float(np.log2(step[cut].astype(np.float64)).sum())
    if luck < LUCK or cut.sum() < (by_chance + long.sum()) / 2:
        return 0
    last_kept = (ids[cut] // step[cut]) % np.uint64(base)
    return int(cut.sum()) if (last_kept != 0).mean() > 0.25 else 0

"""Detection of ids that were rounded when they passed through floats or a spreadsheet."""

from __future__ import annotations

import numpy as np

from recx.core.types import Array

LEAST = 10**15  # smaller integers survive a float, and have no more than the 15 digits of a spreadsheet
LUCK = 20  # bits: ids are this round by chance in one of a million cases


def lost_precision(ids: Array) -> int:
    """Count rounded ids: written as 1.2345e+18 or 17.0, or long integers that are suspiciously round.

    A float64 keeps 53 bits of an integer, JavaScript prints 16 or 17 of its digits, a spreadsheet keeps 15.

    Args:
        ids: Raw ids, integers or texts [n].
    """
    if ids.dtype.kind in "iu":
        return _rounded(np.abs(ids).astype(np.uint64))
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pa.array(ids.tolist(), pa.large_string())
    floats = pc.match_substring_regex(texts, r"^-?\d(\.\d+)?[eE]\+\d+$|^-?\d+\.0+$")
    long = texts.filter(pc.match_substring_regex(texts, r"^[1-9]\d{15,18}$"))
    return int(pc.sum(floats).as_py() or 0) + _rounded(np.array(long.to_pylist(), dtype=np.uint64))


def _rounded(ids: Array) -> int:
    large = ids[ids >= LEAST]
    size = large.astype(np.float64)
    bits = np.maximum(np.frexp(size)[1] - 53, 0)
    digits = np.floor(np.log10(size)).astype(np.int64) + 1
    steps = [(2, bits), *((10, np.maximum(digits - kept, 0)) for kept in (15, 16, 17))]
    return max(_multiples(large, base, power.astype(np.uint64)) for base, power in steps)


def _multiples(ids: Array, base: int, power: Array) -> int:
    """Count ids that are multiples of ``base ** power`` [n] each, if they are far more than expected by chance.

    0 where most are multiples of a higher power too: those ids are round by design.
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

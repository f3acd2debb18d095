"""Which numbers float32 can hold: distinct numbers must not become equal, or what they order would be in no order."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from recx.core.errors import InputError

Array = npt.NDArray[Any]
Reals = npt.NDArray[np.floating[Any]]
"""float32, or float64 where float32 would make distinct numbers equal."""

WHOLE = 2**53
"""Up to here, float64 holds every whole number."""


def floats_of(values: Array, what: str) -> Reals:
    """Return numbers as they are if they are float32, else as float64.

    Args:
        values: The numbers, of any type.
        what: What they are, for the error.

    Raises:
        InputError: They contain a whole number that float64 does not hold.
    """
    if values.dtype == np.float32:
        return values
    found: Reals = values.astype(np.float64, copy=False)
    if values.dtype.kind in "iu" and (np.abs(found) >= WHOLE).any():
        inexact = [number for number in values.ravel().tolist() if int(float(number)) != number]
        if inexact:
            raise InputError(
                f"{what}: whole numbers beyond 2^53 such as {inexact[0]} would become equal to their neighbours as "
                "float64: subtract a constant, or give ranks"
            )
    return found


def is_inexact(text: str) -> bool:
    """Return whether a number from 2^53 on, written without an exponent, has digits that float64 does not hold."""
    if not re.fullmatch(r"\s*[-+]?\d{16,}\.?\d*\s*", text):
        return False
    number = float(text)
    return abs(number) >= WHOLE and Decimal(text.strip()) != Decimal(number)


def fits_float32(values: Array) -> bool:
    """Return whether float32 holds every number exactly, or as NaN."""
    if values.dtype == np.float32:
        return True
    with np.errstate(over="ignore"):
        return bool(((values.astype(np.float32) == values) | (values != values)).all())


def narrowed(values: Array) -> Reals:
    """Return floats [n] as float32 if that is harmless, else as float64.

    It is if whole numbers stay what they are, all numbers stay finite and distinct ones distinct.
    """
    if values.dtype == np.float32:
        return values
    with np.errstate(over="ignore"):
        narrow: Reals = values.astype(np.float32)
    rounded = values[(narrow != values) & (values == values)]
    if not len(rounded):
        return narrow
    if (rounded == np.rint(rounded)).any():  # as all floats beyond 2^52 are
        return values
    ordered = np.sort(values)
    near = ordered.astype(np.float32)
    merged = (ordered[1:] > ordered[:-1]) & (near[1:] == near[:-1])
    return values if merged.any() else narrow

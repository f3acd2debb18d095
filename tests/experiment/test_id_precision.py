"""Ids that were rounded are counted, ids that are merely long or round are not."""

from __future__ import annotations

import numpy as np
import pytest

from recx.core.types import Array
from recx.experiment.id_precision import lost_precision

LONG = np.random.default_rng(0).integers(2**62, 2**63 - 1, 500)


def texts(ids: Array) -> Array:
    return np.array([str(number) for number in ids.tolist()], dtype=object)


def through_floats(ids: Array) -> Array:
    return np.array([int(float(number)) for number in ids.tolist()])


def through_a_spreadsheet(ids: Array) -> Array:
    return np.array([int(f"{number:.14e}".replace(".", "").split("e")[0]) * 10**4 for number in ids.tolist()])


def through_javascript(ids: Array) -> Array:
    """Return what JSON.parse and a print make of them: the shortest digits that give the same float, then zeros."""
    return np.array([int(repr(float(number)).replace(".", "").split("e")[0].ljust(19, "0")) for number in ids.tolist()])


@pytest.mark.parametrize("way", [through_floats, through_a_spreadsheet, through_javascript])
@pytest.mark.parametrize("kind", [np.asarray, texts])
def test_rounded_ids_are_counted(way: object, kind: object) -> None:
    rounded = way(LONG)  # type: ignore[operator]
    assert (rounded != LONG).mean() > 0.9
    assert lost_precision(kind(rounded)) == pytest.approx(len(LONG), rel=0.1)  # type: ignore[operator]
    assert lost_precision(kind(LONG)) == 0  # type: ignore[operator]


def test_only_the_rounded_part_is_counted() -> None:
    assert lost_precision(np.concatenate([through_floats(LONG[:400]), LONG[400:]])) == 400
    assert lost_precision(np.concatenate([through_floats(LONG), np.arange(1000)])) == 500


@pytest.mark.parametrize(
    "ids",
    [
        np.arange(1000),
        np.arange(1000) + 2**53,  # half of them are even
        np.arange(1000, dtype=np.uint64) + np.uint64(2**63),
        -np.arange(1000) - 2**60,
        (np.arange(1000) + 2**40) << 22,  # a snowflake without sequence numbers: rounder than a float makes it
        (np.arange(1000) + 1_506_816_000_000) * 1_000_000,  # milliseconds as nanoseconds
        through_floats(LONG[:1]),  # a single round number proves nothing
        np.array([], dtype=np.int64),
    ],
)
def test_long_or_round_ids_are_not_suspicious(ids: Array) -> None:
    assert lost_precision(ids) == 0


@pytest.mark.parametrize(
    ("ids", "n"),
    [
        (["1.2345e+18", "1.2E+17", "1e+17", "a"], 3),
        (["17.0", "18.00", "b"], 2),
        (["12345e67", "1e5", "0.5", "v1.0", "1.0.0", "-", "", "e+5"], 0),  # hexadecimal, versions
        (["9999999999999999999999999"], 0),
    ],
)
def test_texts_that_were_floats(ids: list[str], n: int) -> None:
    assert lost_precision(np.array(ids, dtype=object)) == n

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.evaluation import Evaluation
from recx.jobs.reproduce import spec
from recx.jobs.reproduce.verdict import Measured, Row, figures_of, rows_of, summary
from recx.jobs.study.cells import Cell, CellOutcome


def row(expected: float, measured: float, tolerance: float = 0.001) -> Row:
    return Row("ease", "films", "end_to_end/ndcg_at_10", expected, tolerance, "paper", "table 2", Measured(measured))


@pytest.mark.parametrize(
    ("expected", "measured", "tolerance", "verdict"),
    [
        pytest.param(0.0434, 0.0434, 0, "reproduced", id="equal, without tolerance"),
        pytest.param(0.0434, 0.0439, 0.0005, "reproduced", id="at the tolerance, which binary fractions overstep"),
        pytest.param(0.0434, 0.0429, 0.0005, "reproduced", id="at the tolerance, below"),
        pytest.param(0.0434, 0.04391, 0.0005, "differs", id="just above"),
        pytest.param(0.0318, 0.0654, 0.003, "differs", id="better is different too"),
        pytest.param(0.0434, math.nan, 1, "", id="not measured, whatever the tolerance"),
    ],
)
def test_verdicts_by_hand(expected: float, measured: float, tolerance: float, verdict: str) -> None:
    assert row(expected, measured, tolerance).verdict == verdict


@given(st.floats(0, 1), st.floats(0, 1))
def test_never_a_guess(expected: float, tolerance: float) -> None:
    """A row without a measured figure has no verdict."""
    assert row(expected, Measured().value, tolerance).verdict == ""


def test_a_summary_counts_each_verdict() -> None:
    same, other, none = row(0.1, 0.1), row(0.1, 0.2), row(0.1, math.nan)
    assert summary([none, none]) == "not run here"
    assert summary([same, same]) == "2 reproduced"
    assert summary([other]) == "1 differs"
    assert summary([same, other, other, none]) == "1 reproduced, 2 differ, 1 not run here"


def outcome(chain: str, seed: int, value: float | None, reason: str = "") -> CellOutcome:
    found = None
    if value is not None:
        found = Evaluation(np.array(["u"]), {"end_to_end/hit_at_1": np.array([value])})
    return CellOutcome(Cell(chain, "four", seed, ()), None, found, 1.0, 0, reason)


def test_a_figure_is_the_mean_over_the_seeds_that_finished() -> None:
    figures = figures_of([outcome("kept", 0, 0.1), outcome("kept", 1, 0.3), outcome("kept", 2, None, "out of memory")])
    found = figures["kept", "four", "end_to_end/hit_at_1"]
    assert (found.value, found.sd, found.seeds) == pytest.approx((0.2, math.sqrt(0.02), 2))
    alone = figures_of([outcome("kept", 0, 0.1)])["kept", "four", "end_to_end/hit_at_1"]
    assert (alone.value, alone.seeds) == (0.1, 1)
    assert math.isnan(alone.sd)


def test_a_chain_that_failed_has_its_reason_and_no_verdict(write: Callable[..., str]) -> None:
    found = rows_of(spec.load(write()), figures_of([outcome("kept", 0, None, "out of memory")]))
    assert [one.measured.reason for one in found] == ["out of memory", "out of memory", ""]
    assert {one.verdict for one in found} == {""}


def test_the_figures_of_the_file_are_those_that_recx_measured(write: Callable[..., str]) -> None:
    [entry, *_] = spec.load(write()).expected
    assert entry.measured == {}
    known = {**vars(entry), "measured": {"hit_at_1": 0.0}, "figures": {"hit_at_1": 0.0}}
    rows = rows_of(spec.load(write(expected=[known])))
    assert [(one.measured.value, one.verdict) for one in rows] == [(0.0, "reproduced")]


def test_a_model_that_is_no_chain_is_never_measured(write: Callable[..., str]) -> None:
    rows = rows_of(spec.load(write()), {("LightGCN", "four", "end_to_end/ndcg_at_2"): Measured(0.9)})
    assert (rows[-1].chain, rows[-1].verdict) == ("LightGCN", "")

"""A comparison after a notebook's cell: warnings first, then differences with interval and p-value."""

from __future__ import annotations

import numpy as np
import pytest

from recx.core.evaluation import Evaluation
from recx.evaluation import comparison_html
from recx.evaluation.compare import Comparison, compare


def evaluation(name: str, figures: list[float], **more: object) -> Evaluation:
    slices = {"length": np.arange(len(figures), dtype=np.float64)}
    values = {"ndcg": np.array(figures), "hit": np.array(figures)}
    return Evaluation(np.arange(len(figures)), values, slices=slices, name=name, **more)  # type: ignore[arg-type]


def html(comparison: Comparison) -> str:
    return comparison._repr_html_()


A, B = evaluation("<a>", [0.0, 0.5, 0.25, 1.0], about="union + linear"), evaluation("b", [0.5, 1.0, 0.75, 1.5])


def test_warnings_come_before_the_differences() -> None:
    comparison = compare(A, B, resamples=200, draws=200)
    shown = html(comparison)
    assert "<b>b against &lt;a&gt; (union + linear)</b>" in shown
    assert 0 < shown.index(comparison.warnings[0][:20]) < shown.index("<table>")
    assert "95 % interval" in shown
    for text in ("0.4375", "0.9375", "+0.5000", "+0.5000 to +0.5000", "0.2500"):  # p: 2 × 2 of 2^4 signs, two metrics
        assert f">{text}<" in shown
    assert ">slice<" not in shown


def test_slices_have_a_column() -> None:
    assert ">slice<" in html(compare(A, B, by="length", resamples=200, draws=200))


def test_runs_that_are_not_tested_have_means_alone() -> None:
    other = evaluation("b", [0.5, 1.0, 0.75, 1.5], rules={"fold": "valid"})
    mine = evaluation("a", [0.0, 0.5, 0.25, 1.0], rules={"fold": "test"})
    comparison = compare(mine, other, resamples=200, draws=200, anyway=True)
    shown = html(comparison)
    assert not comparison.tested
    assert "b beside a" in shown
    assert ">0.4375<" in shown
    assert "p (Holm)" not in shown


def test_a_long_table_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison_html, "LONGEST", 1)
    shown = html(compare(A, B, resamples=200, draws=200))
    assert shown.count("<tr>") == 2
    assert "1 more rows in .table" in shown


def test_all_pairs_of_several_runs_equivalence_and_changes_of_sides_are_shown() -> None:
    lengths = np.tile([1.0, 9.0], 20)
    base = np.random.default_rng(0).random(40)
    shifts = {"a": 0 * lengths, "b": 0.5 - 0.1 * lengths, "c": 0 * lengths}
    runs = [
        Evaluation(
            np.arange(40), {"ndcg": base + 1e-9 * base * (name == "c") + shift}, slices={"length": lengths}, name=name
        )
        for name, shift in shifts.items()
    ]
    shown = html(compare(*runs, resamples=50, margin=0.01))
    assert shown.index(">baseline<") < shown.index("<b>All pairs</b>") < shown.index(">against<")
    assert shown.count(">p equivalent (Holm)<") == 2
    assert '>c</td><td style="text-align:left">b<' in shown
    assert "ndcg: b is above a where length is 1 (+0.4000, 20 users), and below it where it is 9 (-0.4000" in shown
    two = html(compare(*runs[:2], resamples=50))
    assert "All pairs" not in two
    assert "p equivalent" not in two

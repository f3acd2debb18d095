"""What a fitted part reports, and what stands for a part that reports nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recx.core.fit_summary import FitSummary, summary_of
from recx.parts.retriever.union import FittedUnion, Union


@dataclass(frozen=True)
class Trained:
    summary: FitSummary


def test_a_part_without_a_summary_reports_nothing() -> None:
    summary = summary_of(object())
    assert [name for name, reported in vars(summary).items() if reported] == []
    reported = FitSummary(notes={"users": 3})
    assert summary_of(Trained(reported)) is reported


def test_a_union_reports_the_curves_of_its_sources() -> None:
    sources: dict[str, Any] = {"net": Trained(FitSummary(curves={"transformer/loss": [2.0, 1.5]})), "plain": object()}
    assert FittedUnion(Union({"net": sources["net"]}), sources).summary.curves == {"net/loss": [2.0, 1.5]}

"""Limits of figures and the alarms that they raise."""

from __future__ import annotations

import pytest

from recx.core.errors import InputError
from recx.jobs.replay.alarms import Alarm, Limit, check_names, raised

NAN = float("nan")


def alarms(text: str, figures: dict[str, float], noise: dict[str, float] | None = None) -> list[Alarm]:
    return list(raised([Limit.of(text)], 3, figures, noise or {}))


def test_an_alarm_is_raised_beyond_the_bound_and_not_at_it() -> None:
    figures = {"end_to_end/ndcg_at_5": 0.2, "end_to_end/hit_at_5": 0.4}
    assert alarms("end_to_end/ndcg_at_5 < 0.2", figures) == []
    assert alarms("end_to_end/ndcg_at_5<.21", figures) == [
        Alarm("end_to_end/ndcg_at_5<.21", 3, "end_to_end/ndcg_at_5", 0.2)
    ]
    assert [one.figure for one in alarms("end_to_end/*>1e-1", figures)] == list(figures)


def test_a_figure_that_is_missing_and_drift_that_chance_explains_raise_none() -> None:
    assert alarms("a>0", {"a": NAN}) == alarms("a<0", {"a": NAN}) == []
    figures, noise = {"drift/top_score": 0.3}, {"drift/top_score": 0.31}
    assert alarms("drift/*>0.25", figures, noise) == []
    assert len(alarms("drift/*>0.25", figures, {"drift/top_score": 0.29})) == 1
    assert len(alarms("drift/*<0.5", figures, noise)) == 1


@pytest.mark.parametrize("text", ["ndcg", "ndcg=0.2", "<0.2", "ndcg<high", "ndcg<0.2<0.3", "ndcg<nan", ""])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="write a figure, < or > and a number"):
        Limit.of(text)


def test_a_limit_of_a_figure_that_there_is_not_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'end_to_end/ndcg_at_5'"):
        check_names([Limit.of("ndcg_at_5<0.2")], ["end_to_end/ndcg_at_5", "new_items"])
    check_names([Limit.of("end_*<0.2")], ["end_to_end/ndcg_at_5"])

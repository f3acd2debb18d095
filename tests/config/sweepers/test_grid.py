"""The trials of a grid: every combination, entries left out, settings that go with some options only."""

from __future__ import annotations

import pytest

from recx.config.compose import compose
from recx.config.hydra_internals import parse
from recx.config.sweepers.grid import Grid, Plan, plan, planned
from recx.core.errors import InputError


def planned_trials(*words: str, leave_out: str | None = None) -> Plan:
    return plan(parse(words), compose, leave_out=leave_out)


def trials(*words: str, leave_out: str | None = None) -> list[str]:
    return [" ".join(trial) for trial in planned_trials(*words, leave_out=leave_out).trials]


def test_every_combination_is_a_trial() -> None:
    assert trials("seed=1,2", "name=x,y", "+note=[1,2]") == [
        "seed=1 name=x +note=[1,2]",
        "seed=1 name=y +note=[1,2]",
        "seed=2 name=x +note=[1,2]",
        "seed=2 name=y +note=[1,2]",
    ]


def test_what_is_taken_out_stays_out() -> None:
    assert trials("~feature.age", "seed=1,2") == ["seed=1 ~feature.age", "seed=2 ~feature.age"]


def test_each_entry_is_left_out_in_turn() -> None:
    found = trials("feature=documents", leave_out="feature")
    names = list(compose(["feature=documents"]).feature)
    assert found == ["feature=documents", *(f"feature=documents ~feature.{name}" for name in names)]
    without = trials(f"~feature.{names[0]}", "feature=documents", leave_out="feature")
    gone = f"feature=documents ~feature.{names[0]}"
    assert without == [gone, *(f"{gone} ~feature.{name}" for name in names[1:])]


def test_each_option_leaves_out_its_own_entries() -> None:
    found = trials("feature=basic,documents", leave_out="feature")
    for option in ("basic", "documents"):
        without = [trial for trial in found if trial.startswith(f"feature={option} ")]
        assert without == [f"feature={option} ~feature.{name}" for name in compose([f"feature={option}"]).feature]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ranker=identity,linear ranker.l2=0.1,1", ["ranker=identity", "ranker=linear ranker.l2=0.1", "… ranker.l2=1"]),
        ("ranker.l2=0.1 ranker=identity,linear", ["ranker=identity", "ranker.l2=0.1 ranker=linear"]),
        ("ranker=identity,linear ~ranker.l2", ["ranker=identity", "ranker=linear ~ranker.l2"]),
        (
            "retriever=union,item_knn retriever.sources.popularity.half_life=1h,6h",
            [
                "retriever=union retriever.sources.popularity.half_life=1h",
                "… retriever.sources.popularity.half_life=6h",
                "retriever=item_knn",
            ],
        ),
        (
            "retriever=union,ease +retriever.weights.popularity=1,2",
            ["retriever=union +retriever.weights.popularity=1", "… +retriever.weights.popularity=2", "retriever=ease"],
        ),
        (
            "retriever=union,ease +retriever@retriever.sources.mine=ease,random retriever.sources.mine.l2=1",
            [
                "retriever=union +retriever@retriever.sources.mine=ease retriever.sources.mine.l2=1",
                "… +retriever@retriever.sources.mine=random",
                "retriever=ease",
            ],
        ),
    ],
)
def test_a_setting_goes_with_the_options_that_have_it(words: str, expected: list[str]) -> None:
    whole = [line.replace("…", expected[number - 1].split()[0]) for number, line in enumerate(expected)]
    assert trials(*words.split()) == whole


def test_one_line_says_what_applies_where() -> None:
    found = planned_trials("ranker=identity,linear", "ranker.l2=0.1,1")
    assert found.announcement() == "3 trials; ranker.l2 applies to ranker=linear only"
    assert planned_trials("seed=1").announcement() == "1 trial"
    assert planned_trials("retriever=ease,random", "retriever.seen=drop,keep").announcement() == "4 trials"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "ranker=identity,linear ranker.l22=0.1,1",
            "ranker.l22: none of ranker=identity, ranker=linear has a setting 'l22': did you mean 'l2'",
        ),
        ("ranker=identity,linear ranker.l22=0.1", "has a setting 'l22': did you mean 'l2'"),
        ("ranker=identity,linear +ranker.misssed=add", "has a setting 'misssed': did you mean 'missed'"),
        ("ranker=identity,linear ~ranker.l22", "has a setting 'l22': did you mean 'l2'"),
        (
            "retriever=union,item_knn retriever.sorces.popularity.half_life=1h",
            "has a setting 'sorces': did you mean 'sources'",
        ),
        (
            "retriever=union,item_knn retriever.sources.popularity.half_lif=1h",
            "has a setting 'half_lif': did you mean 'half_life'",
        ),
        ("ranker.l2=interval(0,1)", "a grid runs values, not an interval"),
    ],
)
def test_a_setting_that_no_option_has_is_an_error(words: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        trials(*words.split())


def test_hydra_runs_the_planned_trials_in_batches() -> None:
    with planned(planned_trials("seed=1,2,3")):
        assert Grid().split_arguments([], 2) == [[["seed=1"], ["seed=2"]], [["seed=3"]]]

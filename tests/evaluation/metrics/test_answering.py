"""Answering and abstaining: by hand, laws, and equality with a slow loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recx
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.evaluation.metrics.answering import risk_coverage
from recx.evaluation.metrics.registry import parse

NOTHING = 9


@pytest.fixture(scope="session")
def world(judge):
    """Return lists of pairs (item, score) of each user, best first, and the targets; item 9 stands for no answer."""

    def judged(shown, targets, flagged=(NOTHING,)):
        found = judge(
            {user: [item for item, _ in pairs] for user, pairs in shown.items()},
            {user: dict.fromkeys(items, 1.0) for user, items in targets.items()},
        )
        score = np.array([score for user in sorted(shown) for _, score in shown[user]], dtype=np.float32)
        items = Entities(np.arange(50), {"is_abstain": np.isin(np.arange(50), flagged).astype(np.float32)})
        return replace(found, lists=replace(found.lists, score=score), items=items)

    return judged


SHOWN = {
    0: [(1, 5.0), (NOTHING, 1.0)],  # answered rightly, by 4
    1: [(1, 3.0), (NOTHING, 1.0)],  # wrongly, by 2
    2: [(NOTHING, 2.0), (3, 1.0)],  # not, and rightly so
    3: [(NOTHING, 2.0), (4, -1.0)],  # not, and the answer would have been right
    4: [(2, 6.0), (NOTHING, 4.0)],  # wrongly, by 2: nothing answers it
    5: [],
}
TARGETS = {0: [1], 1: [2], 2: [NOTHING], 3: [4], 4: [NOTHING], 5: [NOTHING]}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("answered", [1, 1, 0, 0, 1, 0]),
        ("answer_precision", [1, 0, np.nan, np.nan, 0, np.nan]),
        ("abstain_precision", [np.nan, np.nan, 1, 0, np.nan, np.nan]),
        ("abstain_recall", [np.nan, np.nan, 1, np.nan, 0, 0]),
        ("top_1_accuracy", [1, 0, 1, 0, 0, 0]),
    ],
)
def test_by_hand(world, name, expected):
    assert parse(name)(world(SHOWN, TARGETS)) == pytest.approx(expected, nan_ok=True)


def test_risk_against_coverage_by_hand(world):
    """Confidences are 4, 2, -1, -3, 2, and -inf of the empty list; answers 0 and 3 are right."""
    judged = world(SHOWN, TARGETS)
    table = risk_coverage(judged)
    assert table["confidence"].tolist() == [4, 2, -1, -3, -np.inf]
    assert table["coverage"] == pytest.approx([1 / 6, 3 / 6, 4 / 6, 5 / 6, 1])
    assert table["risk"] == pytest.approx([0, 2 / 3, 3 / 4, 3 / 5, 4 / 6])
    # The two that are equally sure are both wrong.
    assert parse("aurc")(judged) == pytest.approx(np.mean([0, 1 / 2, 2 / 3, 3 / 4, 3 / 5, 4 / 6]))


def test_equally_sure_requests_count_with_the_mean_of_their_errors(world):
    right, wrong = [(1, 1.0), (NOTHING, 0.0)], [(2, 1.0), (NOTHING, 0.0)]
    judged = world({0: right, 1: wrong}, {0: [1], 1: [1]})
    assert parse("aurc")(judged) == 0.5
    assert risk_coverage(judged)["risk"].tolist() == [0.5]
    assert parse("aurc")(world({0: wrong, 1: right}, {0: [1], 1: [1]})) == 0.5


def test_without_an_item_for_no_answer_every_list_is_an_answer_and_its_first_score_the_confidence(world):
    judged = world({0: [(1, 0.9), (2, 0.8)], 1: [(1, 0.7)], 2: []}, {0: [1], 1: [2], 2: [1]}, flagged=())
    assert parse("answered")(judged).tolist() == [1, 1, 0]
    assert parse("answer_precision")(judged) == pytest.approx([1, 0, np.nan], nan_ok=True)
    assert risk_coverage(judged)["confidence"] == pytest.approx([0.9, 0.7, -np.inf])
    for name in ("abstain_precision", "abstain_recall"):
        with pytest.raises(InputError, match=f"^{name} needs an item that stands for no answer"):
            parse(name)(judged)


def test_lists_of_two_kinds_are_refused(world):
    judged = world({0: [(1, 0.9), (NOTHING, 0.8)], 1: [(1, 0.7)]}, {0: [1], 1: [2]})
    for figure in (parse("aurc"), risk_coverage):
        with pytest.raises(InputError, match="which 1 of the 2 lists lack: choose retriever=abstain"):
            figure(judged)


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=10), st.randoms())
def test_it_equals_a_slow_loop_whatever_the_order_of_the_users(world, requests, shuffled):
    def made(given):
        order = list(enumerate(given))
        shown = {
            user: sorted([(1, float(sure)), (NOTHING, 0.0)], key=lambda pair: -pair[1]) for user, (sure, _) in order
        }
        return world(shown, {user: [1] if right else [2] for user, (_, right) in order})

    table = risk_coverage(made(requests))
    for confidence, coverage, risk in zip(*table.values(), strict=True):
        answered = [right for sure, right in requests if sure >= confidence]
        assert coverage == pytest.approx(len(answered) / len(requests))
        assert risk == pytest.approx(1 - np.mean(answered))
    area = parse("aurc")(made(requests))
    again = list(requests)
    shuffled.shuffle(again)
    assert parse("aurc")(made(again)) == pytest.approx(area)
    assert 0 <= area <= 1


def test_a_long_curve_is_thinned_and_keeps_its_ends(world):
    rng = np.random.default_rng(0)
    shown = {user: [(1, float(score))] for user, score in enumerate(rng.normal(size=10))}
    judged = world(shown, {user: [1 + int(rng.random() < 0.5)] for user in shown}, flagged=())
    whole, thin = risk_coverage(judged), risk_coverage(judged, points=4)
    assert len(thin["risk"]) <= 4 < len(whole["risk"]) == 10
    for name in ("coverage", "risk"):
        assert (thin[name][0], thin[name][-1]) == (whole[name][0], whole[name][-1])


@pytest.mark.parametrize("form", ["frame", "flags", "csv"])
def test_lists_from_elsewhere_have_the_same_figures(tmp_path, form):
    rows = [(user, item, score) for user, pairs in SHOWN.items() for item, score in pairs]
    lists = pd.DataFrame(rows, columns=["user", "item", "score"])
    truth = pd.DataFrame([(user, item) for user, of in TARGETS.items() for item in of], columns=["user", "item"])
    items = pd.DataFrame({"item": range(10), "is_abstain": [int(item == NOTHING) for item in range(10)]})
    if form == "flags":
        items["is_abstain"] = items["is_abstain"] == 1
    elif form == "csv":
        items.to_csv(tmp_path / "items.csv", index=False)
        items = tmp_path / "items.csv"
    names = ["answered", "answer_precision", "abstain_precision", "abstain_recall", "aurc"]
    found = recx.evaluate(lists, truth, names, items=items)
    # of users 0 to 5: 3 answers, of which 1 is right; 2 abstentions, of which 1 is right, of 3 that should be
    expected = [3 / 6, 1 / 3, 1 / 2, 1 / 3, np.mean([0, 1 / 2, 2 / 3, 3 / 4, 3 / 5, 4 / 6])]
    assert [found.means[name] for name in names] == pytest.approx(expected)


@pytest.mark.parametrize("flag", [2, None, "yes"])
def test_a_flag_that_is_neither_0_nor_1_is_an_error(flag):
    lists, items = pd.DataFrame({"user": [1], "item": [1], "score": [1.0]}), {"item": [1, 9], "is_abstain": [0, flag]}
    with pytest.raises(InputError, match="items: column 'is_abstain' must be 1 for the item that stands for no answer"):
        recx.evaluate(lists, lists[["user", "item"]], ["answered"], items=pd.DataFrame(items))


def test_without_the_column_it_is_named():
    lists = pd.DataFrame({"user": [1], "item": [1], "score": [1.0]})
    with pytest.raises(InputError, match=r"recx\.evaluate: a column is_abstain of items"):
        recx.evaluate(lists, lists[["user", "item"]], ["abstain_recall"])

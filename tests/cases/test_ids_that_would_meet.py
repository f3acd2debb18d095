"""Ids that would meet but for leading zeros, blanks, quotes or case are an error; lists that merely miss stay 0, said.

Fault 11, and variants of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.cli.commands import evaluate as command
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.evaluation.near_ids import near

MEETING = [
    ("1", "01"),
    ("7", "0007"),
    ("a ", "a"),
    ("\ta", "a"),
    ("B1", "b1"),
    ("12.0", "12"),
    ('"x"', "x"),
    ("a\u00a0", "a"),
]


def table(user: Any, item: Any, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({"user": user, "item": item, **more})


@pytest.mark.parametrize(("ours", "theirs"), MEETING)
@pytest.mark.parametrize("column", ["user", "item"])
def test_two_spellings_of_an_id_are_refused_with_both(column: str, ours: str, theirs: str) -> None:
    shown = table(["u", "u"], ["i", "j"], score=[2.0, 1.0]).assign(**{column: ours})[:1]
    truth = table(["u"], ["i"]).assign(**{column: theirs})
    with pytest.raises(InputError) as caught:
        recx.evaluate(shown, truth, ["hit"])
    sentence = (
        f"the {column} ids of recommendations and relevance are spelled differently, such as {ours!r} and {theirs!r}"
    )
    assert str(caught.value).startswith(sentence)


def test_zeros_in_one_file_only(here: Path) -> None:
    Path("r.csv").write_text("user,item,score\nu,1,2\nu,2,1\n")
    Path("t.csv").write_text("user,item\nu,01\n")
    with pytest.raises(InputError, match="such as '1' and '01'"):
        command.run(["r.csv", "t.csv", "--metrics", "hit", "--k", "2"])
    Path("r.csv").write_text("user,item,score\nu,01,2\nu,02,1\n")
    assert recx.evaluate("r.csv", "t.csv", ["hit"]).means == {"hit": 1.0}  # padded in both


def test_following_the_advice_on_types_does_not_end_in_zeros() -> None:
    """The types differ first; as text the ids differ in zeros, which the next error names."""
    shown, truth = table([1], [7], score=[1.0]), table([1], ["007"])
    with pytest.raises(InputError, match=r"astype\(str\)"):
        recx.evaluate(shown, truth, ["hit"])
    with pytest.raises(InputError, match="such as '7' and '007'"):
        recx.evaluate(shown.assign(item=shown["item"].astype(str)), truth, ["hit"])


def test_history_is_compared_too() -> None:
    shown, truth, history = table(["u"], ["a"], score=[1.0]), table(["u"], ["a"]), table(["v"], ["A"])
    with pytest.raises(InputError, match=r"item ids of .* and history are spelled differently"):
        recx.evaluate(shown, truth, ["novelty"], history=history)


def test_a_few_odd_spellings_among_many_are_counted() -> None:
    """Catalogues may tell A from a: where most ids meet, the others are counted and said, not refused."""
    shown = table(["u"] * 4, ["a", "b", "c", "D"], score=[4.0, 3.0, 2.0, 1.0])
    evaluation = recx.evaluate(shown, table(["u"] * 4, ["a", "b", "c", "d"]), ["recall"])
    assert evaluation.means == {"recall": 0.75}
    assert evaluation.notes["items_spelled_differently"] == 1
    assert any(sentence.startswith("1 items would only meet without leading zeros") for sentence in evaluation.warnings)


def test_ids_that_case_alone_tells_apart_meet_exactly() -> None:
    shown = table(["u", "u"], ["a", "A"], score=[2.0, 1.0])
    evaluation = recx.evaluate(shown, table(["u"], ["A"]), ["mrr"])
    assert evaluation.means == {"mrr": 0.5}
    assert "items_spelled_differently" not in evaluation.notes


@pytest.mark.parametrize("items", [[1, 2], ["a", "b"]])
def test_lists_that_miss_every_target_stay_0_and_are_said(items: list[Any]) -> None:
    missed = 3 if items == [1, 2] else "c"
    evaluation = recx.evaluate(table(["u", "u"], items, score=[2.0, 1.0]), table(["u"], [missed]), ["hit"])
    assert evaluation.means == {"hit": 0.0}
    assert evaluation.notes["no_item_in_common"] == 1
    assert any("no list shows any item of the ground truth" in sentence for sentence in evaluation.warnings)


def test_runs_of_differently_spelled_users_name_a_pair() -> None:
    a, b = (
        Evaluation(np.array(users), {"m": np.zeros(2)}, name=n) for n, users in (("a", ["x", "01"]), ("b", ["1", "y"]))
    )
    with pytest.raises(InputError, match=r"a and b have no user in common \(such as '01' and '1'\)"):
        recx.compare(a, b)


def test_only_ids_that_are_alone_are_near() -> None:
    assert near(["1", "2", "03"], ["01", "2", "3", "x"]) == [("1", "01"), ("03", "3")]
    assert near(["1", "01"], ["1"]) == []

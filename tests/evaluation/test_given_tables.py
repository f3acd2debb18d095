"""Tables to evaluate: of any library, under other names, with one row an item or a user. One meaning for all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import recx
from recx.core.errors import InputError

LISTS = pd.DataFrame(
    {"user": ["ann", "ann", "ann", "bob", "bob"], "item": [3, 1, 2, 2, 9], "score": [0.9, 0.8, 0.7, 0.6, 0.5]}
)
TRUTH = pd.DataFrame({"user": ["ann", "ann", "bob", "eve"], "item": [1, 2, 9, 3], "grade": [2, 1, 1, 1]})
METRICS = ["ndcg_at_2", "recall_at_2", "mrr"]
ANN = (2 / np.log2(3)) / (2 + 1 / np.log2(3))
MEANS = {"ndcg_at_2": (ANN + 1 / np.log2(3)) / 3, "recall_at_2": (0.5 + 1) / 3, "mrr": (0.5 + 0.5) / 3}
"""Of three users: ann has 1 (grade 2) in the second place, bob 9 in the second, eve has no list."""


class Streamed:
    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def folded(frame: pd.DataFrame, plural: bool = False, **more: str) -> pd.DataFrame:
    """Return a frame with one row a user."""
    rows = frame.groupby("user", sort=False).agg(list).reset_index()
    return rows.rename(columns={name: f"{name}s" for name in rows.columns[1:]} if plural else {})


def as_arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame)


def as_parquet(frame: pd.DataFrame) -> str:
    path = f"{len(list(Path().iterdir()))}.parquet"
    frame.to_parquet(path)
    return path


def as_json(frame: pd.DataFrame) -> str:
    path = f"{len(list(Path().iterdir()))}.jsonl"
    frame.to_json(path, orient="records", lines=True)
    return path


def as_json_list(frame: pd.DataFrame) -> str:
    path = f"{len(list(Path().iterdir()))}.json"
    Path(path).write_text(json.dumps(frame.to_dict("records")), encoding="utf-8")
    return path


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "arrow": as_arrow,
    "stream": lambda frame: Streamed(as_arrow(frame)),
    "views": lambda frame: Streamed(as_arrow(frame).set_column(0, "user", pa.array(frame["user"]).cast("string_view"))),
    "category": lambda frame: frame.astype({"user": "category"}),
    "arrow dtypes": lambda frame: as_arrow(frame).to_pandas(types_mapper=pd.ArrowDtype),
    "parquet": as_parquet,
    "json lines": as_json,
    "json list": as_json_list,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", ["rows", "lists", "plural"])
def test_figures_are_the_same_in_every_form(form: str, shape: str, here: Path) -> None:
    lists, truth = LISTS, TRUTH
    if shape != "rows":
        lists, truth = folded(LISTS, plural=shape == "plural"), folded(TRUTH, plural=shape == "plural")
    found = recx.evaluate(FORMS[form](lists), FORMS[form](truth), METRICS)
    assert found.means == pytest.approx(MEANS)
    assert found.notes["users_without_list"] == 1


@pytest.mark.parametrize("form", [form for form in FORMS if form != "views"])
def test_columns_may_have_other_names(form: str, here: Path) -> None:
    names = {"user": "uid", "item": "sku", "score": "pred", "grade": "stars"}
    lists = LISTS.rename(columns=names).assign(item="trap")
    truth = TRUTH.rename(columns={"grade": "stars"})
    if form == "category":
        lists, truth = lists.astype({"uid": "category"}), truth.astype({"user": "category"})
        form = "pandas"
    found = recx.evaluate(FORMS[form](lists), FORMS[form](truth), METRICS, columns=names)
    assert found.means == pytest.approx(MEANS)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "views"])
@pytest.mark.parametrize(("user", "item"), [("user_id", "item_id"), ("userId", "movieId"), ("qid", "docno")])
def test_names_that_say_user_and_item_need_no_columns(form: str, user: str, item: str, here: Path) -> None:
    names = {"user": user, "item": item}
    lists, truth = LISTS.rename(columns=names), TRUTH.rename(columns=names)
    if item == "docno":  # Terrier's own number of a document stands beside its name
        lists["docid"] = range(len(lists))
    if form == "category":
        lists, truth = lists.astype({user: "category"}), truth.astype({user: "category"})
        form = "pandas"
    assert recx.evaluate(FORMS[form](lists), FORMS[form](truth), METRICS).means == pytest.approx(MEANS)


def test_lists_without_scores_are_in_order(here: Path) -> None:
    lists = folded(LISTS.drop(columns="score"))
    assert recx.evaluate(lists, TRUTH, METRICS).means == pytest.approx(MEANS)
    scored = folded(LISTS.assign(score=-LISTS["score"]))
    assert recx.evaluate(scored, TRUTH, METRICS).means["mrr"] == pytest.approx((1 + 1) / 3)
    history = pd.DataFrame({"user": ["ann"], "items": [[7, 8]]})
    found = recx.evaluate(lists, TRUTH, ["novelty_at_2"], history=history)
    assert found.protocol["history_events"] == 2


def test_an_empty_or_missing_list_is_none() -> None:
    lists = pd.DataFrame({"user": ["ann", "bob", "eve"], "items": [[3, 1, 2], [], None]})
    found = recx.evaluate(lists, TRUTH, ["mrr"])
    assert found.means == pytest.approx({"mrr": 0.5 / 3})
    assert found.notes["users_without_list"] == 2


TWICE = pd.DataFrame({"user": ["ann", "ann"], "items": [[1], [2]]})
WRONG: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "two rows": (TWICE, TRUTH, {}, "the user 'ann' has two rows, which could be two lists or one list in two pieces"),
    "one score": (folded(LISTS).assign(score=1.0), TRUTH, {}, "column 'score' has one value for a list of items"),
    "short scores": (
        pd.DataFrame({"user": ["ann"], "item": [[1, 2]], "score": [[0.5]]}),
        TRUTH,
        {},
        r"column 'score', row 1: its list is not as long as that of the items \(2\)",
    ),
    "other numbers": (
        folded(LISTS.rename(columns={"score": "p"})),
        TRUTH,
        {},
        "the column 'p' has a number for each item of the lists, which could be its score or grade",
    ),
    "lazy": (type("Lazy", (), {"collect": None})(), TRUTH, {}, r"lazy frame.*recommendations\.collect\(\)"),
    "model": (
        pd.concat([LISTS[:3].assign(model="a"), LISTS[3:].assign(model="b")]),  # as RecTools and LensKit call it
        TRUTH,
        {},
        r"column 'model' \(a, b\) could say which system made each list",
    ),
    "text": ([1], TRUTH, {}, "recommendations must be a data frame .* or the path of a file, not list"),
    "role": (LISTS, TRUTH, {"columns": {"usr": "user"}}, "there is no such role: did you mean 'user'"),
    "column": (LISTS, TRUTH, {"columns": {"score": "scor"}}, r"'scor' \(score\) is missing; did you mean 'score'"),
    "one for two": (LISTS, TRUTH, {"columns": {"user": "item", "item": "item"}}, "'item' is given two roles"),
    "missing id": (as_arrow(LISTS.assign(item=[1, None, 2, 3, 4])), TRUTH, {}, "column 'item'"),
    "NA id": (
        as_arrow(LISTS.assign(item=pd.array([1, None, 2, 3, 4], "Int64"))),
        TRUTH,
        {},
        "column 'item', row 2: the value is missing",
    ),
    "systems": (
        LISTS.assign(Algorithm=["a", "a", "a", "b", "b"]),
        TRUTH,
        {},
        r"column 'Algorithm' \(a, b\) could say which system made each list: .* with --by Algorithm .*, or drop",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_has_two_readings_is_refused(name: str) -> None:
    lists, truth, settings, sentence = WRONG[name]
    with pytest.raises(InputError, match=sentence):
        recx.evaluate(lists, truth, METRICS, **settings)


def test_columns_that_name_systems_in_a_file_are_refused(here: Path) -> None:
    LISTS.assign(Algorithm=["a", "a", "a", "b", "b"]).to_csv("lists.csv", index=False)
    with pytest.raises(InputError, match="column 'Algorithm'"):
        recx.evaluate("lists.csv", TRUTH, METRICS)
    LISTS.assign(Algorithm="a").to_csv("lists.csv", index=False)
    assert recx.evaluate("lists.csv", TRUTH, METRICS).means == pytest.approx(MEANS)


def test_items_of_arrow_keep_their_embeddings() -> None:
    items = pa.table({"item": [1, 2, 3, 9], "embedding": [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]})
    found = recx.evaluate(as_arrow(LISTS), TRUTH, ["diversity_at_2"], items=items)
    of_pandas = recx.evaluate(LISTS, TRUTH, ["diversity_at_2"], items=items.to_pandas())
    assert found.means == of_pandas.means
    assert np.isfinite(found.means["diversity_at_2"])

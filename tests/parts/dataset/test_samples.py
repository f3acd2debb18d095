"""Ready-made samples: tasks and tools with features and labels, from every kind of file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest

import recx
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.samples import Samples
from recx.testing import check_dataset

ROWS = [
    {"task_id": "q2", "task": "post it", "tool": "sendMail", "label": 1, "features": {"bm25": 2.5, "usage": 1}},
    {"task_id": "q2", "task": "post it", "tool": "calc", "label": 0, "features": {"bm25": 0.5, "usage": 3}},
    {"task_id": "q1", "task": "add it", "tool": "calc", "label": 1, "features": {"bm25": -1.0, "usage": 3}},
    {"task_id": "q1", "task": "add it", "tool": "mail_2", "label": 1, "features": {"bm25": 0.0, "usage": 0}},
    {"task_id": "q3", "task": "none", "tool": "calc", "label": 0, "features": {"bm25": 1.0, "usage": 3}},
]


def vectors(rows: Sequence[Any] = ROWS) -> list[dict[str, Any]]:
    return [{**row, "features": [float(value) for value in row["features"].values()]} for row in rows]


def wide(rows: Sequence[Any] = ROWS) -> pd.DataFrame:
    flat = [{**row, **{f"feature_{name}": value for name, value in row["features"].items()}} for row in rows]
    return pd.DataFrame(flat).drop(columns="features")


def cells(rows: Sequence[Any] = ROWS) -> pd.DataFrame:
    return pd.DataFrame([{**row, "features": json.dumps(row["features"])} for row in rows])


def lines(rows: Sequence[Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def load(folder: Path, text: str, name: str = "s.jsonl", **settings: Any) -> Interactions:
    (folder / name).write_text(text)
    return Samples(str(folder / name), **settings).load()


def pairs(data: Interactions) -> dict[tuple[str, str], list[float]]:
    """Return task and tool -> features."""
    assert data.slates is not None
    lists = data.slates
    users, items = data.users.ids[lists.user[lists.list_of_row]], data.items.ids[lists.item]
    values = np.column_stack(list(lists.columns.values())).tolist()
    return {(user, item): row for user, item, row in zip(users, items, values, strict=True)}


def check(data: Interactions, names: Sequence[str]) -> None:
    """Check that data are those of ``ROWS``, whose features have these names."""
    assert data.users.ids.tolist() == ["q2", "q1", "q3"]
    assert data.users.table["text"].tolist() == ["post it", "add it", "none"]
    assert data.items.ids.tolist() == ["calc", "mail_2", "sendMail"]
    assert data.items.table["text"].tolist() == ["calc", "mail 2", "send Mail"]
    assert data.slates is not None
    assert list(data.slates.columns) == list(names)
    assert pairs(data) == {(row["task_id"], row["tool"]): list(row["features"].values()) for row in ROWS}
    right = {(data.users.ids[user], data.items.ids[item]) for user, item in zip(data.user, data.item, strict=True)}
    assert right == {("q2", "sendMail"), ("q1", "calc"), ("q1", "mail_2")}
    assert data.time is None
    assert data.to_predict is None
    assert {name: count for name, count in data.notes.items() if count} == {
        "tools_offered": 5,
        "tasks_without_right_tool": 1,
        "tasks_whose_tools_are_all_right": 1,
        "tasks_with_one_tool": 1,
    }


NAMED, NUMBERED = ("bm25", "usage"), ("feature_0", "feature_1")


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("s.jsonl", lines(ROWS), NAMED),
        ("s.json", json.dumps(ROWS, indent=1), NAMED),
        ("s.json", json.dumps({"samples": ROWS}), NAMED),
        ("s.json", json.dumps({"samples": ROWS}, indent=2), NAMED),
        ("s.jsonl", lines(vectors()), NUMBERED),
        ("s.jsonl", wide().to_json(orient="records", lines=True), ("feature_bm25", "feature_usage")),
        ("s.csv", wide().to_csv(index=False), ("feature_bm25", "feature_usage")),
        ("s.tsv", wide().to_csv(index=False, sep="\t"), ("feature_bm25", "feature_usage")),
        ("s.csv", cells().to_csv(index=False), NAMED),
        ("s.csv", cells(vectors()).to_csv(index=False), NUMBERED),
        ("s.jsonl", lines([{**row, "label": bool(row["label"])} for row in ROWS]), NAMED),
        ("s.csv", wide().assign(label=[True, False, True, True, False]).to_csv(index=False), None),
    ],
    ids=["lines", "list", "samples", "samples indented", "vectors", "flat lines", "csv", "tsv", "csv of objects",
         "csv of vectors", "true and false", "csv of true and false"],
)  # fmt: skip
def test_samples_are_slates_with_columns(tmp_path: Path, name: str, text: str, names: Sequence[str] | None) -> None:
    check(load(tmp_path, text, name), names or ("feature_bm25", "feature_usage"))
    check_dataset(Samples(str(tmp_path / name)))


@pytest.mark.parametrize("form", ["objects", "vectors", "wide", "float32"])
@pytest.mark.parametrize("end", ["parquet", "arrow"])
def test_so_are_those_of_typed_tables(tmp_path: Path, form: str, end: str) -> None:
    made = {"objects": ROWS, "vectors": vectors(), "float32": vectors()}
    table = pa.Table.from_pandas(wide(), preserve_index=False) if form == "wide" else pa.Table.from_pylist(made[form])
    if form == "float32":
        at = table.column_names.index("features")
        table = table.set_column(at, "features", table["features"].cast(pa.list_(pa.float32(), 2)))
    path = tmp_path / f"s.{end}"
    if end == "parquet":
        pa.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    names = {"objects": NAMED, "wide": ("feature_bm25", "feature_usage")}
    check(Samples(str(path)).load(), names.get(form, NUMBERED))


def test_columns_can_be_named(tmp_path: Path) -> None:
    table = wide().rename(
        columns={"task_id": "a", "tool": "b", "label": "c", "feature_bm25": "d", "feature_usage": "e"}
    )
    named = {"task": "a", "tool": "b", "label": "c", "features": ("e", "d")}
    data = load(tmp_path, table.to_csv(index=False), "s.csv", **named)
    assert pairs(data)["q2", "sendMail"] == [1, 2.5]
    data = load(tmp_path, table.to_csv(index=False), "s.csv", **{**named, "features": "d"})
    assert pairs(data)["q2", "sendMail"] == [2.5]


def test_trace_and_node_make_a_task_and_parts_are_kept(tmp_path: Path) -> None:
    rows = [
        {"trace_id": 1, "node_id": node, "split": part, "tool": tool, "label": int(tool == "a"), "f0": 1, "f1": True}
        for node, part in (("x", "train"), ("y", "dev"), ("z", "test"))
        for tool in ("a", "b")
    ]
    data = load(tmp_path, lines(rows))
    assert data.users.ids.tolist() == ["1/x", "1/y", "1/z"]
    assert {name: column.tolist() for name, column in data.users.table.items()} == {
        "trace": ["1"] * 3,
        "node": ["x", "y", "z"],
        "part": ["train", "valid", "test"],
    }
    assert pairs(data)["1/x", "b"] == [1, 1]


def test_unknown_labels_are_to_be_predicted_and_equal_rows_are_one(tmp_path: Path) -> None:
    rows = [*ROWS, ROWS[0], *({**row, "task_id": "q4", "label": None} for row in ROWS[:2])]
    data = load(tmp_path, lines(rows))
    assert data.to_predict is not None
    assert data.users.ids[data.to_predict].tolist() == ["q4"]
    assert data.notes["samples_twice"] == 1
    assert data.notes["tasks_to_predict"] == 1
    assert data.notes["tasks_without_right_tool"] == 1


def changed(row: int, **values: Any) -> str:
    """Return the rows as lines, one of them changed; without the keys whose value is ``...``."""
    rows = [dict(one) for one in ROWS]
    rows[row] = {key: value for key, value in {**rows[row], **values}.items() if value is not ...}
    return lines(rows)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (changed(1, label=2), "line 2: its label is 2, and must be 1 (right) or 0"),
        (changed(1, label=-1), "line 2: its label is -1"),
        (changed(1, label="yes"), "line 2: 'label' is \"yes\", and must be a number"),
        (changed(1, label=None), "line 2: its label is missing, and other samples of its task have one"),
        (changed(1, tool=...), "line 2: its tool is missing"),
        (changed(1, task_id=" "), "line 2: its task is missing"),
        (changed(1, tool=["calc"]), "line 2: its tool is a list, and must be text or a whole number"),
        (changed(1, tool=7), "line 2: its tool is 7, and those before are of another type"),
        (changed(1, task="other"), "line 2: the task 'q2' has two values of text"),
        (changed(1, features={"bm25": 1}), "line 2 lacks the feature 'usage', which"),
        (changed(1, features={"bm25": 1, "usage": 1, "more": 1}), "line 1 lacks the feature 'more', which"),
        (changed(1, features=[1, 2]), "line 2: its features are [1, 2], and those of"),
        (changed(1, features=...), "line 2: its features are null"),
        (changed(0, features={}), "line 1: its features are {}, and must be a list of numbers, or an object"),
        (changed(1, features={"bm25": None, "usage": 1}), "line 2: 'bm25' is null, and must be a number"),
        (changed(1, features={"bm25": "1", "usage": 1}), "line 2: 'bm25' is \"1\", and must be a number"),
        (changed(1, features={"bm25": 2**53 + 1, "usage": 1}), "whole numbers beyond 2^53 become equal"),
        (changed(1, features={"bm25": 1e300, "usage": 1}), "line 2: the feature 'bm25' is missing, infinite or beyond"),
        (
            lines([*ROWS, {**ROWS[0], "label": 0}]),
            "line 6: the tool 'sendMail' of the task 'q2' has another label than",
        ),
        (
            lines([*ROWS, {**ROWS[0], "features": {"bm25": 9, "usage": 1}}]),
            "has another bm25 than in an earlier sample",
        ),
        (lines({**row, "label": 0} for row in ROWS), "no label is 1"),
        (lines({**row, "part": "some"} for row in ROWS), "line 1: its part is 'some', which is none of train"),
        (
            lines({**row, "query_id": 1} for row in ROWS),
            "the task could be the column 'task_id' or 'query_id': set data",
        ),
        (
            lines({**row, "phi_rel": 1} for row in ROWS),
            "the features could be in the column 'features', or be 'phi_rel'",
        ),
        (
            lines({"a": 1} for _ in ROWS),
            "none of its columns ('a') is called tool or the like: name that of the tool by",
        ),
        (lines({key: row[key] for key in ("task", "tool", "label")} for row in ROWS), "is called features or the like"),
        (lines([*ROWS, [1]]), "line 6: it is [1], and must be an object"),
        ("[]", "it has no rows"),
        ("{", "it is not JSON"),
    ],
)
def test_bad_samples_are_refused_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        load(tmp_path, text)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": [1, 0, 1, 1, 3]}, "row 5: its label is 3, and must be 1"),
        ({"label": ["x", "0", "1", "1", "1"]}, "the label"),
        ({"feature_usage": [1, 2, None, 4, 5]}, "row 3: the feature 'feature_usage' is missing"),
        ({"feature_usage": ["1", "2", "high", "4", "5"]}, "the column 'feature_usage'"),
        ({"tool": ["a", None, "c", "d", "e"]}, "row 2: its tool is missing"),
    ],
)
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_so_are_bad_rows_of_tables(tmp_path: Path, change: dict[str, Any], said: str, end: str) -> None:
    table, path = wide().assign(**change), str(tmp_path / f"s.{end}")
    table.to_csv(path, index=False) if end == "csv" else table.to_parquet(path)
    with pytest.raises(InputError) as error:
        Samples(path).load()
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_linear_ranker_learns_from_samples_as_they_are(here: Path) -> None:
    draw = np.random.default_rng(0)
    rows = [
        {
            "task_id": task,
            "tool": f"t{tool}",
            "label": int(tool == task % 5),
            "features": [float(tool == task % 5), noise],
        }
        for task in range(60)
        for tool, noise in enumerate(draw.random(5).tolist())
    ]
    Path("samples.jsonl").write_text(lines(rows))
    words = ["+experiment=tools", "dataset=samples", "dataset.path=samples.jsonl", "retriever=given", "feature=columns"]
    result = recx.run([*words, "split=by_query", "tracker=console"])
    assert result.metrics["end_to_end/top_1_accuracy"] == 1.0
    assert set(result.weights) == {"feature_0", "feature_1"}

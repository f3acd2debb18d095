"""Logs of impressions: what is read from which table, and each fault with its column and row."""

from __future__ import annotations

import re

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from recx.core.errors import InputError
from recx.evaluation.clicks.log import read_log

ROWS = {
    "list": ["a", "a", "b", "b", "b"],
    "item": [7, 9, 9, 7, 8],
    "position": [1, 2, 1, 2, 3],
    "clicked": [0, 1, 0, 0, 0],
}


def frame(**changed):
    return pd.DataFrame({**ROWS, **changed})


def seen(log):
    """Return list after list the items with their clicks, and which row of each list was clicked last."""
    shown = list(zip(log.item[log.pair].tolist(), log.clicked.tolist(), strict=True))
    return log.indptr.tolist(), shown, log.last.tolist()


EXPECTED = ([0, 2, 5], [(7, False), (9, True), (9, False), (7, False), (8, False)], [1, 1])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_every_library(kind):
    assert seen(read_log(kind(ROWS))) == EXPECTED


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files(tmp_path, ending):
    path = tmp_path / f"log.{ending}"
    frame().to_csv(path, index=False) if ending == "csv" else frame().to_parquet(path)
    assert seen(read_log(path)) == seen(read_log(str(path))) == EXPECTED


def test_rows_may_come_in_any_order_and_lists_mixed():
    found = read_log(frame().iloc[[4, 1, 3, 0, 2]])
    assert found.item[found.pair].tolist() == [9, 7, 8, 7, 9]  # the lists by first appearance
    assert (found.indptr.tolist(), found.last.tolist()) == ([0, 3, 5], [-1, 4])


@pytest.mark.parametrize(
    "clicked",
    [
        [False, True, False, False, False],
        ["0", "1", "0", "0", "0"],
        ["false", "True", "false", "false", "FALSE"],
        [0.0, 1.0, 0.0, 0.0, 0.0],
    ],
    ids=["bool", "digits", "words", "floats"],
)
def test_clicks_may_be_flags_of_any_kind(clicked):
    assert seen(read_log(frame(clicked=clicked))) == EXPECTED


def test_other_names():
    renamed = frame().rename(columns={"list": "session", "position": "rank"})
    assert seen(read_log(renamed, {"list": "session", "position": "rank"})) == EXPECTED


def test_items_are_told_apart_by_query():
    found = read_log(frame(query=["x", "x", "y", "y", "y"]))
    assert list(zip(found.query, found.item, strict=True)) == [("x", 7), ("x", 9), ("y", 7), ("y", 8), ("y", 9)]
    assert found.pair.tolist() == [0, 1, 4, 2, 3]


WITHOUT = "and the order of the rows could be that in which items were shown or that in which they were logged"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (frame().drop(columns="position"), f"column 'position' is missing, {WITHOUT}.*: add the positions, from 1"),
        (
            frame().rename(columns={"position": "pos"}),
            rf"{WITHOUT}.*: name it \(columns=\{{\"position\": 'pos'\}}\)",
        ),
        (frame().drop(columns="clicked"), "column 'clicked' is missing"),
        (frame(position=[0, 1, 1, 2, 3]), "column 'position', row 1: the position is 0: positions could count from 0"),
        (
            frame(position=[1, 2, 1, 1, 2]),
            "column 'position', row 4: the list 'b' has the position 1 twice: one impression could .*, or two lists",
        ),
        (
            frame(position=[1, 2, 1, 2, 4]),
            "column 'position', row 5: the list 'b' has the position 4, not 3: an item could be .*, or positions could",
        ),
        (frame(position=[1, 2, 2, 3, 4]), "column 'position', row 3: the list 'b' has the position 2, not 1"),
        (frame(position=[1, 2, 1, 2, None]), "column 'position', row 5: the value is missing"),
        (frame(position=["1", "2", "1", "2nd", "3"]), "column 'position', row 4: '2nd' is not a whole number"),
        (frame(item=[7, 9, 9, 7, 9]), "column 'item', row 5: the list 'b' shows the item 9 twice"),
        (frame(clicked=[0, 1, 0, 2, 0]), "column 'clicked', row 4: 2 is neither 0 nor 1: correct it"),
        (frame(clicked=[0, 1, 0, 0.5, 0]), "column 'clicked', row 4: 0.5 is neither 0 nor 1"),
        (frame(clicked=["0", "1", "yes", "0", "0"]), "column 'clicked', row 3: 'yes' is not a number"),
        (frame(clicked=[0, 1, None, 0, 0]), "column 'clicked', row 3: the value is missing"),
        (frame(clicked=[0] * 5), "column 'clicked' has no click, so nothing can be said of any item"),
        (
            frame(query=["x", "x", "y", "z", "y"]),
            "column 'query', row 4: the list 'b' has the query 'z' and another one",
        ),
        (frame(item=[7, 9, 9, None, 8]), "column 'item', row 4: "),
    ],
)
def test_a_fault_is_named_with_its_column_and_row(table, message):
    with pytest.raises(InputError, match=message) as caught:
        read_log(table)
    assert "\n" not in str(caught.value)


def test_the_row_is_that_of_the_file(tmp_path):
    frame().iloc[[4, 1, 3, 0, 2]].assign(position=[2, 2, 1, 1, 4]).to_csv(tmp_path / "log.csv", index=False)
    named = re.escape(f"{tmp_path}/log.csv: column 'position', row 5: the list 'b' has the position 4, not 3")
    with pytest.raises(InputError, match=named):
        read_log(tmp_path / "log.csv")


def test_the_cascade_has_one_click_a_list():
    log = frame(clicked=[1, 0, 1, 0, 1])
    assert read_log(log).clicked.sum() == 3
    with pytest.raises(
        InputError, match=r"'clicked', row 5: the list 'b' has more than one click.*use model=dbn or mod"
    ):
        read_log(log, one_click=True)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"positions": "rank"}, "there is no such role: did you mean 'position'"),
        ({"query": "q"}, "column 'q' is missing"),
        ({"position": "rank"}, "column 'rank' is missing, and the order of the rows"),
    ],
)
def test_a_wrong_name_is_refused(columns, message):
    with pytest.raises(InputError, match=message):
        read_log(frame(), columns)


def test_what_is_no_table_is_refused():
    with pytest.raises(InputError, match="log is of type list: give a data frame"):
        read_log([1, 2])  # type: ignore[arg-type]

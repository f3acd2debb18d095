"""Frames in hand: a run of a frame is the run of a file with the same content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import recx
from recx.core.errors import InputError
from recx.jobs.frames import OF_TABLES, given_frames

RNG = np.random.default_rng(0)
EVENTS = pd.DataFrame(
    {
        "uid": RNG.integers(0, 40, 300),
        "sku": RNG.integers(0, 25, 300),
        "ts": pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(300), unit="h"),
    }
)
ITEMS = pd.DataFrame({"sku": range(25), "category": ["a", "b", "c", "d", "e"] * 5})
COLUMNS = {"user": "uid", "item": "sku", "time": "ts"}
QUICK = ["+experiment=table", "retriever=popularity", "ranker=identity"]
SILENT = [*QUICK, "tracker=console", "cache=off"]


def figures(result: Any) -> dict[str, float]:
    return {
        name: value for name, value in result.metrics.items() if name.partition("/")[0] not in ("time", "peak_memory")
    }


def test_a_run_of_a_frame_is_that_of_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    EVENTS.to_parquet("events.parquet")
    ITEMS.to_parquet("items.parquet")
    given = ["dataset.user=uid", "dataset.item=sku", "dataset.time=ts", "dataset.items=items.parquet"]
    of_file = recx.run([*QUICK, "dataset.path=events.parquet", *given])
    of_frame = recx.run(QUICK, data=EVENTS, items=pa.Table.from_pandas(ITEMS), columns=COLUMNS)
    np.testing.assert_equal(
        figures(of_frame), {**figures(of_file), "data/cache_hits": of_frame.metrics["data/cache_hits"]}
    )
    assert capsys.readouterr().out.count("since a data frame cannot be read again") == 1
    folder = max(here.glob("outputs/2*/*"))
    card = json.loads((folder / "protocol.json").read_text(encoding="utf-8"))
    assert card["source"].startswith("data frame in memory, 300 rows, ")
    assert (folder / "report.html").is_file()

    again = recx.run(QUICK, data=pa.Table.from_pandas(EVENTS), items=ITEMS, columns=COLUMNS)
    assert again.hits["load"] == again.hits["evaluate"] == 1
    other = recx.run(QUICK, data=EVENTS[1:], items=ITEMS, columns=COLUMNS)
    assert "load" not in other.hits
    table = recx.compare(recx.results.load(str(folder)), recx.results.load("last"), anyway=True).table
    assert len(table)


def test_folds_and_lists_of_frames_are_those_of_files(here: Path) -> None:
    last = EVENTS.groupby("uid").cumcount(ascending=False)
    folds = {"data": EVENTS[last > 1], "valid": EVENTS[last == 1], "test": EVENTS[last == 0]}
    folds["slates"] = pd.DataFrame({"user": np.repeat(EVENTS["uid"].unique(), 25)}).assign(
        item=lambda lists: lists.index % 25, score=lambda lists: RNG.random(len(lists))
    )
    for name, frame in folds.items():
        frame.to_parquet(f"{name}.parquet")
    words = ["+experiment=table", "split=given", "retriever=given", "ranker=identity", "tracker=console", "cache=off"]
    given = [f"dataset.{'path' if name == 'data' else name}={name}.parquet" for name in folds]
    of_files = recx.run([*words, *given, "dataset.user=uid", "dataset.item=sku", "dataset.time=ts"])
    of_frames = recx.run(words, **folds, columns=COLUMNS)
    np.testing.assert_equal(figures(of_frames), figures(of_files))
    assert of_frames.metrics["data/requests"] == (EVENTS["uid"].value_counts() > 0).sum()
    assert recx.doctor(overrides=words, **folds, columns=COLUMNS).events == len(EVENTS.drop_duplicates())


def test_the_model_of_a_frame_recommends_later(here: Path) -> None:
    recx.run(SILENT, data=EVENTS, columns=COLUMNS)
    frame = recx.load_model("last").recommend([3], k=2)
    assert frame["user"].tolist() == [3, 3]
    recx.run([*SILENT, "model=parts"], data=EVENTS, columns=COLUMNS)
    with pytest.raises(InputError, match=r"rows, \w+: it was given from Python and is not at hand here"):
        recx.load_model("last").recommend([3], k=2)


def test_a_sweep_reads_a_frame(here: Path) -> None:
    trials = recx.sweep([*SILENT, "fold=valid", "retriever=popularity,random"], data=EVENTS, columns=COLUMNS)
    assert trials["retriever"].tolist() == ["popularity", "random"]
    assert np.isfinite(trials["objective"]).all()


WRONG: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "role": (SILENT, {"data": EVENTS, "columns": {"usr": "uid"}}, "no such role: did you mean 'user'"),
    "columns alone": (SILENT, {"columns": COLUMNS}, "columns= names the columns of data=, which is not given"),
    "path": ([*SILENT, "dataset.path=x.csv"], {"data": EVENTS}, "dataset.path=x.csv: an argument .* sets dataset.path"),
    "column": (
        [*SILENT, "dataset.user=u"],
        {"data": EVENTS, "columns": COLUMNS},
        "dataset.user=u: .* leave one of them",
    ),
    "news": (["+experiment=news"], {"data": EVENTS}, "dataset=news reads files of its own, .* by dataset=table"),
    "lazy": (SILENT, {"users": type("Lazy", (), {"collect": None})()}, r"users is a lazy frame.*give users\.collect"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_ambiguous_or_unknown_is_refused(name: str, here: Path) -> None:
    words, arguments, sentence = WRONG[name]
    with pytest.raises(InputError, match=sentence):
        recx.run(words, **arguments)
    assert not list(here.iterdir())


def test_overrides_name_frames_and_columns() -> None:
    given = given_frames({"data": EVENTS, "items": None}, {"user": "it's", "item": 0, "time": None}, [], OF_TABLES)
    [frame] = given.frames
    experiment, path, *columns = given.words
    assert (experiment, path) == ("+experiment=table", f"dataset.path='{frame.name}'")
    assert columns == [r"dataset.user='it\'s'", "dataset.item='0'", "dataset.time=null"]
    assert "+experiment=table" not in given_frames({"data": EVENTS}, None, ["dataset=table"], OF_TABLES).words
    assert given_frames({"data": None}, None, []).words == ()

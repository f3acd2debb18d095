from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.experiment.report_writers import ReportWriter, TableWriter
from recx.report.writers.detailed_results import DetailedResults

FIELDS = [
    "trace_id", "node_id", "query", "true_candidate", "true_candidates", "predicted_candidate", "top3_candidates",
    "top3_scores", "rank", "is_top1_correct", "is_top3_correct",
]  # fmt: skip
SHOWN = [[2, 0, 1, 3], [0, 2], [], [3, 1]]
TARGETS = [(0, 2, 1.0), (1, 2, 1.0), (2, 1, 1.0), (3, 0, 1.0), (3, 1, 0.5), (3, 2, 2.0)]


def result_of(targets: list[tuple[int, int, float]] | None = TARGETS, table: bool = True) -> Any:
    """Return a result of four nodes, with ids and names."""
    texts = {
        "trace": np.array(["t1", "t1", "t2", "t2"], dtype=object),
        "node": np.array(["a", "b", "a", "b"], dtype=object),
        "text": np.array(["你好", "b", "", 'say "hi", all'], dtype=object),
    }
    users = Entities(np.array(["u0", "u1", "u2", "u3"]), texts if table else {})
    items = Entities(np.arange(4) + 100)
    frame = pd.DataFrame(targets or [], columns=["user", "item", "weight"])
    frame = frame.assign(user=[f"u{user}" for user in frame["user"]], item=frame["item"].astype(int) + 100)
    target = Interactions.from_frame(frame.astype({"weight": float}), users=users, items=items)
    history = target.keep(np.zeros(len(target), dtype=bool))
    fold = Fold(history, None if targets is None else target, Requests(np.arange(4, dtype=np.int32)))
    item = np.array([item for items in SHOWN for item in items], dtype=np.int32)
    score = np.concatenate([np.linspace(1, 0.25, 4), [0.5, 0.125], [7, 7]]).astype(np.float32)
    lists = RankedLists(fold.requests.user, indptr_of(np.array([len(items) for items in SHOWN])), item, score)
    named = replace(target, items=replace(items, names=np.array(["up", "down", "left", "right"])))
    evaluator = SimpleNamespace(rel_threshold=1.0)
    return SimpleNamespace(
        interactions=named,
        split=SimpleNamespace(fold=fold),
        recommendations=lists,
        experiment=SimpleNamespace(evaluator=evaluator),
    )


def test_every_field_by_hand() -> None:
    assert DetailedResults().table(result_of()) == {
        "trace_id": ["t1", "t1", "t2", "t2"],
        "node_id": ["a", "b", "a", "b"],
        "query": ["你好", "b", "", 'say "hi", all'],
        # Of the last one's targets, only one below the threshold was retrieved: the one of the highest grade is shown.
        "true_candidate": ["left", "left", "down", "left"],
        "true_candidates": [["left"], ["left"], ["down"], ["left", "up", "down"]],
        "predicted_candidate": ["left", "up", None, "right"],
        "top3_candidates": [["left", "up", "down"], ["up", "left"], [], ["right", "down"]],
        "top3_scores": [[1.0, 0.75, 0.5], [0.5, 0.125], [], [7.0, 7.0]],
        "rank": [1, 2, None, None],
        "is_top1_correct": [True, False, False, False],
        "is_top3_correct": [True, True, False, False],
    }


def test_the_best_ranked_of_several_targets_is_shown() -> None:
    table = DetailedResults().table(result_of([(0, 3, 5.0), (0, 0, 1.0)]))
    assert table["true_candidates"] == [["right", "up"]]
    assert table["true_candidate"] == ["up"]
    assert table["rank"] == [2]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_file_holds_the_table(tmp_path: Path, form: Any) -> None:
    writer = DetailedResults(form)
    path = writer.write(result_of(), tmp_path)
    assert path == tmp_path / f"detailed_results.{form}"
    frame = pd.read_parquet(path) if form == "parquet" else pd.read_csv(path)
    assert frame.columns.tolist() == FIELDS
    assert frame["rank"].dropna().tolist() == [1, 2]
    assert frame["is_top1_correct"].tolist() == [True, False, False, False]
    read = json.loads if form == "csv" else list
    assert [read(row) for row in frame["top3_candidates"]][1:3] == [["up", "left"], []]
    assert read(frame["true_candidates"][3]) == ["left", "up", "down"]
    assert [path.name for path in tmp_path.iterdir()] == [path.name]


def test_users_without_a_table_are_identified_by_their_ids() -> None:
    table = DetailedResults().table(result_of(table=False))
    assert table["trace_id"] == ["u0", "u1", "u2", "u3"]
    assert table["node_id"] == table["query"] == [None] * 4


def test_a_prediction_has_no_ground_truth(tmp_path: Path) -> None:
    writer = DetailedResults()
    table = writer.table(result_of(None))
    assert table["predicted_candidate"] == ["left", "up", None, "right"]
    for field in ("true_candidate", "true_candidates", "rank", "is_top1_correct", "is_top3_correct"):
        assert table[field] == [None] * 4
    assert writer.write(result_of(None), tmp_path).is_file()


def test_it_is_a_writer_whose_table_is_tracked() -> None:
    writer: ReportWriter = DetailedResults()
    assert isinstance(writer, TableWriter)


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(InputError, match=r"report\.format=xlsx: "):
        DetailedResults("xlsx")  # type: ignore[arg-type]

"""trec_eval's own expected outputs (its repository's ``test`` folder), query by query and over all queries."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.judged_lists import JudgedLists
from recx.core.types import Doubles
from recx.storage.readers.lists import read

ROUNDED = 5.1e-5
"""The expected outputs have four decimal places."""


@dataclass(frozen=True)
class Count:
    """One of trec_eval's counts, as a custom metric with one value per user."""

    name: str
    of: Callable[[JudgedLists], Any]

    def __call__(self, judged: JudgedLists) -> Doubles:
        return np.asarray(self.of(judged), dtype=np.float64)


COUNTS = {
    "num_ret": Count("num_ret", lambda judged: judged.lists.lengths),
    "num_rel": Count("num_rel", lambda judged: judged.n_targets),
    "num_rel_ret": Count("num_rel_ret", lambda judged: judged.shown(None)),
}
SAME = {
    "num_q": "num_queries",
    "map": "map_trec",
    "recip_rank": "mrr",
    "bpref": "bpref",
    "ndcg": "ndcg",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f",
    "P": "precision",
    "recall": "recall",
    "success": "hit",
    "ndcg_cut": "ndcg",
    "map_cut": "map_trec",
}
"""Measure of trec_eval, its cut aside -> metric of recx. It has measures that recx has not: Rprec, infAP ..."""


def metric_of(measure: str) -> str | Count | None:
    """Return the metric of recx that is this measure of trec_eval, or None."""
    if measure in COUNTS:
        return COUNTS[measure]
    cut = re.fullmatch("(P|recall|success|ndcg_cut|map_cut)_([0-9]+)", measure)
    if cut:
        return f"{SAME[cut[1]]}_at_{cut[2]}"
    return SAME.get(measure)


@pytest.fixture(scope="session")
def folder(shared_data: Callable[[str], Path]) -> Path:
    return shared_data("trec-eval-tests")


def in_order_of_trec(run: pd.DataFrame) -> pd.DataFrame:
    """Return a run in the order that trec_eval judges it in: falling score as float32, ties by falling document id.

    recx keeps the order given where scores are tied, and scores as exact as they are given, so that trec_eval's order
    must be made first and then be used unchanged (``order="given"``).
    """
    exact = run.assign(score=run["score"].astype("float32"))
    return exact.sort_values(["user", "score", "item"], ascending=[True, False, False], kind="stable")


def expected(path: Path) -> dict[tuple[str, str], float]:
    """Return (measure, query or ``all``) -> value, of the measures that recx has too."""
    found = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            measure, query, value = line.split(maxsplit=2)
            if metric_of(measure) is not None:
                found[measure, query] = float(value)
    return found


@pytest.mark.parametrize(
    ("output", "run", "qrels", "first", "rel_threshold", "n_values"),
    [
        pytest.param("out.test", "results.test", "qrels.test", None, 1, 15, id="the main measures, all queries"),
        pytest.param("out.test.a", "results.test", "qrels.test", None, 1, 42, id="all measures, all queries"),
        pytest.param("out.test.aq", "results.test", "qrels.test", None, 1, 160, id="-q: every query"),
        pytest.param("out.test.aqc", "results.trunc", "qrels.test", None, 1, 160, id="-c: a query without list is 0"),
        pytest.param("out.test.aqcM", "results.trunc", "qrels.test", 100, 1, 160, id="-M100: the first 100 of a list"),
        pytest.param("out.test.aql", "results.test", "qrels.rel_level", None, 2, 160, id="-l2: relevant from grade 2"),
        pytest.param("out.test.meas_params", "results.test", "qrels.test", None, 1, 40, id="other cuts"),
    ],
)
def test_every_value_is_trec_evals(
    folder: Path, output: str, run: str, qrels: str, first: int | None, rel_threshold: float, n_values: int
) -> None:
    """Its graded measures (ndcg, ndcg_cut) take every positive grade as a gain, those below the level -l too.

    So do recx's. Its -l makes the binary measures alone stricter, as ``rel_threshold`` does.
    """
    wanted = expected(folder / f"{output}.gz")
    assert len(wanted) >= n_values
    lists = in_order_of_trec(read(folder / f"{run}.gz", "recommendations"))
    lists = lists if first is None else lists.groupby("user", sort=False).head(first)
    metrics = list(dict.fromkeys(metric_of(measure) for measure, _ in wanted))
    evaluation = recx.evaluate(
        lists, folder / f"{qrels}.gz", [m for m in metrics if m], order="given", rel_threshold=rel_threshold
    )
    of_query = evaluation.per_user.set_index("user")
    for (measure, query), value in wanted.items():
        metric = metric_of(measure)
        if isinstance(metric, Count):
            mine = of_query[measure].sum() if query == "all" else of_query.loc[query, measure]
        else:
            mine = evaluation.means[str(metric)] if query == "all" else of_query.loc[query, metric]
        assert mine == pytest.approx(value, abs=ROUNDED), (measure, query)


def test_a_query_without_a_list_is_counted(folder: Path) -> None:
    evaluation = recx.evaluate(folder / "results.trunc.gz", folder / "qrels.test.gz", ["map_trec"])
    assert evaluation.users.tolist() == ["301", "302", "303"]
    assert (evaluation.notes["users_judged"], evaluation.notes["users_without_list"]) == (3, 1)
    assert evaluation.values["map_trec"][1] == 0


def test_a_gain_for_each_grade_is_a_mapping_of_the_truth(folder: Path) -> None:
    """``-m ndcg.1=3,2=9,4=4.5``: what trec_eval maps by a setting is one line of pandas."""
    qrels = read(folder / "qrels.rel_level.gz", "relevance")
    run = in_order_of_trec(read(folder / "results.test.gz", "recommendations"))
    plain = recx.evaluate(run, qrels, ["ndcg"], order="given").values["ndcg"]
    other = recx.evaluate(run, qrels.replace({"grade": {2: 9, 4: 1}}), ["ndcg"], order="given").values["ndcg"]
    assert other[0] != pytest.approx(plain[0])
    assert other[1:] == pytest.approx(plain[1:])  # all relevant ones of these queries are of one grade


def test_negative_judgements_are_counted_and_worth_nothing(folder: Path) -> None:
    notes = recx.evaluate(folder / "results.test.gz", folder / "qrels.rel_level.gz", ["ndcg"]).notes
    assert notes["targets_negative"] == 304
    assert notes["targets_duplicated"] == 0


def test_files_are_judged_where_they_lie_and_ties_keep_the_files_order(folder: Path, tmp_path: Path) -> None:
    """Gzipped or not, as paths or as texts: one value. trec_eval's order is another one only where scores tie."""
    paths = folder / "results.test.gz", folder / "qrels.test.gz"
    unzipped = [tmp_path / path.stem for path in paths]
    for path, plain in zip(paths, unzipped, strict=True):
        plain.write_bytes(gzip.decompress(path.read_bytes()))
    metrics = ["map_trec", "ndcg", "ndcg_at_10", "recall_at_1000"]
    means = recx.evaluate(*paths, metrics).means
    assert recx.evaluate(*(str(path) for path in unzipped), metrics).means == means
    run = read(paths[0], "recommendations")
    trec = recx.evaluate(in_order_of_trec(run), paths[1], metrics, order="given").means
    assert run.duplicated(["user", "score"]).sum() == 10
    assert means["recall_at_1000"] == trec["recall_at_1000"]
    assert means == pytest.approx(trec, abs=5e-4)
    untied = run.assign(rank=in_order_of_trec(run).groupby("user").cumcount()).drop(columns="score")
    assert recx.evaluate(untied, paths[1], metrics).means == pytest.approx(trec, abs=1e-12)

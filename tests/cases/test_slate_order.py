"""A slate that comes with scores or ranks keeps its order: ``retrieval/``, ``identity`` and ``lift`` speak of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx import Experiment
from recx.core.errors import InputError
from recx.core.types import Interactions, RankedLists, Requests
from recx.evaluation.evaluator import Evaluator
from recx.experiment.experiment import Result
from recx.experiment.protocol_card import SEARCHED, SLATES, card, data_hash
from recx.parts.dataset.agents import Agents
from recx.parts.dataset.judged import Judged
from recx.parts.dataset.search_order import best_first, worth_of
from recx.parts.dataset.tool_selection import ToolSelection
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.given import Given
from recx.parts.split.by_query import ByQuery

QUERIES, SHOWN = 30, 6


def files(folder: Path, run: str, name: str) -> Judged:
    """Every query's answer is the document of its own number, which the search of ``run`` puts second."""
    (folder / "queries.csv").write_text("query,text\n" + "".join(f"q{q},about {q}\n" for q in range(QUERIES)))
    (folder / "documents.csv").write_text("document,text\n" + "".join(f"d{d},text {d}\n" for d in range(QUERIES)))
    (folder / "qrels.txt").write_text("".join(f"q{q} 0 d{q} 1\n" for q in range(QUERIES)))
    (folder / name).write_text(run)
    return Judged(str(folder))


def rows() -> list[tuple[str, str, int]]:
    """Return (query, document, rank), the last rank first, so that the order of the file is none."""
    found = []
    for q in range(QUERIES):
        shown = [(q + 7) % QUERIES, q, *((q + step) % QUERIES for step in (3, 11, 19, 23))]
        found += [(f"q{q}", f"d{d}", rank) for rank, d in enumerate(shown, start=1)]
    return found[::-1]


RUNS: Mapping[str, tuple[str, Any]] = {
    "a run of TREC": ("run.trec", lambda q, d, r: f"{q} Q0 {d} {r} {9.5 - r} first\n"),
    "a run of TREC without ranks": ("run.trec", lambda q, d, r: f"{q} Q0 {d} 0 {9.5 - r} first\n"),
    "a run whose scores are nearly one": ("run.trec", lambda q, d, r: f"{q} Q0 {d} {r} {1 - 1e-12 * r:.13f} first\n"),
    "a run of equal scores": ("run.trec", lambda q, d, r: f"{q} Q0 {d} {r} 1 first\n"),
    "scores": ("candidates.csv", lambda q, d, r: f"{q},{d},{-r}\n"),
    "scores like seconds": ("candidates.csv", lambda q, d, r: f"{q},{d},{1_700_000_000 - r}\n"),
    "ranks": ("candidates.tsv", lambda q, d, r: f"{q}\t{d}\t{r}\n"),
    "ranks from 0": ("candidates.tsv", lambda q, d, r: f"{q}\t{d}\t{r - 1}\n"),
    "both": ("candidates.csv", lambda q, d, r: f"{q},{d},{1 / r},{r}\n"),
    "the scores of BM25": ("candidates.csv", lambda q, d, r: f"{q},{d},{-r}\n"),
    "scores with a word before": ("candidates.tsv", lambda q, d, r: f"{q}\t{d}\t{1 - 1e-12 * r:.13f}\n"),
    "distances": ("candidates.csv", lambda q, d, r: f"{q},{d},{0.25 * r}\n"),
    "distances in JSON": (
        "run.jsonl",
        lambda q, d, r: json.dumps({"query": q, "document": d, "l2_dist": r}) + "\n",
    ),
    "JSON": ("run.jsonl", lambda q, d, r: json.dumps({"query": q, "document": d, "score": 50 - r}) + "\n"),
}
HEADERS = {
    "scores": "query,document,score\n",
    "scores like seconds": "query,document,similarity\n",
    "ranks": "query\tdocument\trank\n",
    "ranks from 0": "qid\tdocid\tposition\n",
    "both": "query,document,score,rank\n",
    "the scores of BM25": "query,document,BM25\n",
    "scores with a word before": "query\tdocument\tdense_score\n",
    "distances": "query,document,distance\n",
}


def dataset(folder: Path, kind: str) -> Judged:
    name, line = RUNS[kind]
    return files(folder, HEADERS.get(kind, "") + "".join(line(*row) for row in rows()), name)


@dataclass(frozen=True)
class Lower:
    """Puts what is first third: the answer, which the search put second, becomes the first of all."""

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        place = np.where(candidates.rank == 1, 2.5, candidates.rank - 1)
        return candidates.reorder(-place)


def run(data: Any, ranker: Any = None) -> Result:
    evaluator = Evaluator(retrieval=["ndcg_at_10"], ranking=["ndcg_at_5"], end_to_end=["ndcg_at_5", "mrr"])
    return Experiment(data, ByQuery(), Given(), ranker or Identity(), evaluator, n_candidates=100).run()


@pytest.mark.parametrize("kind", RUNS)
def test_the_baseline_is_the_first_search(kind: str, tmp_path: Path) -> None:
    found = run(dataset(tmp_path, kind))
    assert found.report is not None
    means = found.report.means
    assert means["retrieval/ndcg_at_10"] == pytest.approx(1 / np.log2(3))  # the answer is second in every list
    assert means["end_to_end/mrr"] == 0.5
    assert found.notes["requests_with_shuffled_slate"] == 0
    assert card(found, {})["ranking"] == SEARCHED
    better = run(dataset(tmp_path, kind), Lower())
    assert better.report is not None
    assert better.report.means["end_to_end/mrr"] == 1
    assert better.report.means["funnel/lift_ndcg_at_5"] == pytest.approx(1 - 1 / np.log2(3))


def test_without_scores_slates_are_shuffled_and_it_is_said(tmp_path: Path) -> None:
    run_of = "query,document\n" + "".join(f"{q},{d}\n" for q, d, _ in rows())
    found = run(files(tmp_path, run_of, "candidates.csv"))
    assert found.notes["requests_with_shuffled_slate"] == len(found.split.fold.requests)
    assert card(found, {})["ranking"] == SLATES
    assert len(set(found.candidates.rank[found.candidates.item == 0].tolist())) <= SHOWN


def test_equal_scores_are_shuffled_and_the_others_stay(tmp_path: Path) -> None:
    line = "".join(f"{q},{d},{1 if r > 1 else 2}\n" for q, d, r in rows())
    found = run(files(tmp_path, "query,document,score\n" + line, "candidates.csv"))
    lists = found.candidates
    first = found.interactions.items.ids[lists.item[lists.rank == 1]]
    asked = found.interactions.users.ids[lists.user]
    assert [f"d{(int(q[1:]) + 7) % QUERIES}" for q in asked] == first.tolist()
    answer = found.interactions.items.ids[lists.item] == [f"d{asked[row][1:]}" for row in lists.list_of_row]
    assert len(set(lists.rank[answer].tolist())) > 1


def test_ranks_that_contradict_the_scores_are_refused(tmp_path: Path) -> None:
    lines = "".join(f"{q},{d},{r},{r}\n" for q, d, r in rows())
    data = files(tmp_path, "query,document,score,rank\n" + lines, "candidates.csv")
    with pytest.raises(InputError, match="rank 1 with score 1 and rank 2 with score 2: leave out the ranks if the"):
        data.load()


def test_two_columns_that_could_be_the_order_are_named(tmp_path: Path) -> None:
    lines = "".join(f"{q},{d},{-r},{r}\n" for q, d, r in rows())
    data = files(tmp_path, "query,document,bm25_score,dense_distance\n" + lines, "candidates.csv")
    with pytest.raises(InputError, match=r"column 'bm25_score' or 'dense_distance': call the one that counts score if"):
        data.load()
    other = files(tmp_path, "query,document,bm25_score,rank\n" + lines, "candidates.csv")
    assert other.load().notes == files(tmp_path, "query,document,x,rank\n" + lines, "candidates.csv").load().notes


@pytest.mark.parametrize("digits", ["{}", "{}.0", "{}.5"])
def test_scores_with_more_digits_than_float64_holds_are_refused_beside_small_ones(digits: str, tmp_path: Path) -> None:
    lines = "".join(f"{q},{d},{'0.5' if q == 'q0' else digits.format(2**60 - r)}\n" for q, d, r in rows())
    data = files(tmp_path, "query,document,score\n" + lines, "candidates.csv")
    with pytest.raises(InputError, match=r"score 11529215046068469\d\d\S* has more digits than float64 holds"):
        data.load()


def test_the_order_of_a_slate_is_part_of_the_data(tmp_path: Path) -> None:
    data = dataset(tmp_path, "ranks").load()
    assert data.slates is not None
    other = replace(data, slates=replace(data.slates, score=2 * data.slates.score))
    assert data_hash(data) != data_hash(other)


def tools(folder: Path, candidates: Sequence[Mapping[str, Any]]) -> ToolSelection:
    pool = {"tools": {name: {"name": name, "description": name} for name in ("mail", "maps", "shop")}}
    task = {"task": "write", "ground_truth": "maps", "retrieved_candidates": candidates}
    selections = [{"trace_id": f"t{n}", "node_id": "n", **task} for n in range(20)]
    (folder / "tool_pool.json").write_text(json.dumps(pool))
    (folder / "tool_selection.json").write_text(json.dumps({"selections": selections}))
    return ToolSelection(str(folder))


@pytest.mark.parametrize(
    "more",
    [
        [{"score": 0.2}, {"score": 1 - 1e-12}, {"score": 1 - 2e-12}],
        [{"rank": 3}, {"rank": 1}, {"rank": 2}],
        [{"distance": 0.3}, {"distance": 0.1}, {"distance": 0.2}],
        [{"bm25_score": 1}, {"bm25_score": 3}, {"bm25_score": 2}],
        [{"rank": 2, "score": 1}, {"rank": 1, "score": 2}, {"rank": 2, "score": 2}],
    ],
)
def test_candidate_tools_keep_the_order_of_their_search(more: list[dict[str, float]], tmp_path: Path) -> None:
    names = ("mail", "maps", "shop")
    data = tools(tmp_path, [{"tool_name": name, **found} for name, found in zip(names, more, strict=True)]).load()
    lists = Given().retrieve(data, Requests(np.arange(20, dtype=np.int32)), 3)
    shown = data.items.ids[lists.item].reshape(20, 3)
    assert (shown == ["maps", "shop", "mail"]).all()
    assert lists.notes["requests_with_shuffled_slate"] == 0


def test_a_search_that_scores_some_candidates_only_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the score of a candidate is None: give all of them a number, or none"):
        tools(tmp_path, [{"tool_name": "mail", "score": 1}, {"tool_name": "maps"}]).load()


def test_candidate_trees_keep_the_order_of_their_search(tmp_path: Path) -> None:
    def tree(name: str, tool: str) -> dict[str, Any]:
        nodes = {"n": {"task": "plan"}, "a": {"task": f"Call {tool}"}}
        return {"candidate_id": name, "type": "x", "tree": {"nodes": nodes, "edges": [["n", "a"]]}}

    trees = [tree("gt", "mail"), tree("one", "maps"), tree("two", "shop")]
    node = {"node_id": "n", "node_task": "plan", "ground_truth": trees[0], "random_candidates": trees[1:]}
    traces = [{"trace_id": f"t{n}", "node_candidates": [node]} for n in range(20)]
    chosen = [{"candidate_id": name, "score": score} for name, score in (("gt", 0.5), ("two", 0.7), ("one", 0.1))]
    found = [{"node_id": "n", "node_task": "plan", "selected_candidates": chosen}]
    selections = [{"trace_id": f"t{n}", "node_selections": found} for n in range(20)]
    (tmp_path / "node_candidates.json").write_text(json.dumps({"traces": traces}))
    (tmp_path / "graph_selection_results.json").write_text(json.dumps({"traces": selections}))
    data = Agents(str(tmp_path)).load()
    lists = Given().retrieve(data, Requests(np.arange(20, dtype=np.int32)), 3)
    names = [name.rpartition("/")[2] for name in data.items.shown[lists.item]]
    assert names == ["two", "gt", "one"] * 20


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3), st.integers(0, 3)), max_size=12))
def test_worth_sorts_as_scores_then_ranks_do(rows: list[tuple[int, int, int]]) -> None:
    group, score, rank = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    contradict = any(a[0] == b[0] and a[2] < b[2] and a[1] < b[1] for a in rows for b in rows)
    if contradict:
        with pytest.raises(InputError, match="contradict"):
            worth_of(group, score.astype(float), rank.astype(float), "here")
        return
    worth = worth_of(group, score.astype(float), rank.astype(float), "here")
    assert worth is not None
    for a, of_a in zip(rows, worth, strict=True):
        for b, of_b in zip(rows, worth, strict=True):
            if a[0] == b[0] and a[1] != b[1]:
                assert (of_a > of_b) == (a[1] > b[1])
            if a[0] == b[0] and a[1] == b[1] and a[2] != b[2]:
                assert (of_a > of_b) == (a[2] < b[2])


@pytest.mark.parametrize("value", ["0.5", True, float("nan"), 1e39, 2**60 + 1])
def test_scores_that_are_no_numbers_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="here: the score"):
        best_first([{"score": value}], "here")

"""Distinct scores and features stay distinct: nothing is cut to float32 before it is compared, stored or written."""

from __future__ import annotations

import itertools
from collections.abc import Callable as Function
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recx
from recx import Experiment
from recx.core.entities import Entities
from recx.core.errors import InputError, RecxError
from recx.core.precision import fits_float32, narrowed
from recx.core.ragged import indptr_of, order_in_groups
from recx.core.types import Array, Interactions, RankedLists, Requests
from recx.evaluation.evaluator import Evaluator
from recx.experiment.list_files import ListTable
from recx.parts.dataset.judgements import Pairs, judged
from recx.parts.dataset.svmlight import Svmlight
from recx.parts.feature.columns import Columns
from recx.parts.feature.retrieval import Score
from recx.parts.ranker.callable import Callable
from recx.parts.ranker.linear import Linear
from recx.parts.retriever.given import Given
from recx.parts.retriever.union import Union
from recx.parts.shared.design_matrix import design_matrix
from recx.parts.shared.top_k import OfItems, top_k, top_of_table
from recx.parts.split.by_query import ByQuery
from recx.storage.cache.store import Cache
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import read

QUERIES, SHOWN = 40, 8
SCALES: Mapping[str, Function[[int], float]] = {
    "small": float,
    "seconds": lambda x: 1_700_000_000 + x,
    "dates": lambda x: 20_180_100 + x,
    "microseconds": lambda x: 1_700_000_000_000_000 + x,
    "saturated": lambda x: 1 - 1e-9 * (100 - x),
    "nearly equal": lambda x: 0.1 + 1e-12 * x,
    "large": lambda x: 1e30 * (1 + 1e-12 * x),
}
"""Name -> a function of 0 to 99 that rises, in steps that float32 cannot tell apart for all but the first."""


def values_of(query: int) -> list[int]:
    return np.random.default_rng(query).permutation(100)[:SHOWN].tolist()


def svmlight(folder: Path, scale: Function[[int], float]) -> Svmlight:
    """One feature orders every query perfectly."""
    lines = []
    for query in range(QUERIES):
        values = values_of(query)
        lines += [f"{int(x == max(values))} qid:{query} 1:{scale(x)!r}\n" for x in values]
    (folder / "rows.txt").write_text("".join(lines))
    return Svmlight(str(folder / "rows.txt"))


def chain(data: Any, ranker: Any) -> Experiment:
    return Experiment(
        data,
        ByQuery(),
        Given(),
        ranker,
        Evaluator(retrieval=["ndcg_at_10"], ranking=["ndcg_at_5"], end_to_end=["ndcg_at_5", "mrr", "auc"]),
        n_candidates=100,
    )


@pytest.mark.parametrize("name", SCALES)
def test_a_feature_that_orders_every_query_does_so_on_any_scale(name: str, tmp_path: Path) -> None:
    result = chain(svmlight(tmp_path, SCALES[name]), Linear({"columns": Columns()}, resamples=0)).run()
    assert result.report is not None
    assert result.report.means["end_to_end/ndcg_at_5"] == 1
    assert result.report.means["end_to_end/auc"] == 1
    assert result.notes["ranker_constant_features"] == 0


@pytest.mark.parametrize("name", SCALES)
def test_what_a_run_writes_is_judged_as_the_run_was(name: str, tmp_path: Path) -> None:
    result = chain(svmlight(tmp_path, SCALES[name]), ByFirstColumn()).run()
    file = tmp_path / "lists.parquet"
    ListTable(result.recommendations, result.candidates, result.interactions).write(file)
    target = result.split.fold.target
    assert target is not None
    assert result.report is not None
    users, items = result.interactions.users.ids, result.interactions.items.ids
    truth = pd.DataFrame({"user": users[target.user], "item": items[target.item]})
    shuffled = pd.read_parquet(file).sample(frac=1, random_state=0).drop(columns="rank")
    again = recx.evaluate(shuffled, truth, metrics=["ndcg_at_5", "auc"]).means
    assert again == {"ndcg_at_5": 1, "auc": 1}


@dataclass(frozen=True)
class ByFirstColumn:
    """Ranks by the first column of the slates."""

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        return candidates.reorder(candidates.columns["1"])


def texts(n: int = 3) -> tuple[Interactions, Requests]:
    items = Entities(np.arange(n), {"text": np.array([f"text {item}" for item in range(n)], dtype=object)})
    users = Entities(np.array(["u"]), {"text": np.array(["query"], dtype=object)})
    pairs = Pairs(np.zeros(n, dtype=np.int64), np.arange(n), np.arange(n) + 1.0)
    return judged(pairs, users, items), Requests(np.array([0], dtype=np.int32))


SCORES = {"seconds": [1_700_000_000 + x for x in (0, 2, 1)], "saturated": [1 - 1e-12, 1.0, 1 - 1e-13]}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("kind", ["list", "array", "pairs", "float32 and float64"])
def test_the_scores_of_a_reranker_are_compared_as_it_gave_them(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer: Any = SCORES[name]
    if kind == "array":
        answer = np.array(answer)
    elif kind == "pairs":
        answer = list(enumerate(answer))
    elif kind == "float32 and float64":
        answer = [np.float64(score) for score in answer]

    class Reranker:
        def rerank(self, query: str, documents: Sequence[str]) -> Any:
            return answer

    monkeypatch.setitem(Callable.__dict__["_reranker"].__dict__, "func", lambda self: Reranker())
    history, requests = texts()
    lists = Given().retrieve(history, requests, 3)
    ranked = Callable("x:y").rank(lists.take(np.array([0])).reorder(-lists.item), history, requests)
    assert ranked.item.tolist() == [1, 2, 0]
    assert len(set(ranked.score.tolist())) == 3


@pytest.mark.parametrize(
    "answer",
    [
        [2**60 + 1, 2**60 + 2, 2**60 + 3],
        np.array([2**60 + 1, 2**60 + 2, 2**60 + 3]),
        [0.5, 2**60 + 1, 2**60 + 2],
        [(0, 2**60 + 1), (1, 2**60 + 2), (2, 1)],
    ],
    ids=["numbers", "array", "beside a small one", "pairs"],
)
def test_an_object_whose_whole_scores_float64_does_not_hold_is_told(
    answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reranker:
        def rerank(self, query: str, documents: Sequence[str]) -> Any:
            return answer

    monkeypatch.setitem(Callable.__dict__["_reranker"].__dict__, "func", lambda self: Reranker())
    history, requests = texts()
    with pytest.raises(RecxError, match="returns 1152921504606846977, which would become equal to its neighbours"):
        Callable("x:y").rank(Given().retrieve(history, requests, 3).take(np.array([0])), history, requests)


def test_whole_numbers_beyond_2_to_the_53_are_refused_where_scores_are_float64() -> None:
    lists = lists_of([0, 1], np.zeros(2))
    with pytest.raises(InputError, match=r"scores: whole numbers beyond 2\^53 such as 1152921504606846977"):
        lists.reorder(np.array([2**60, 2**60 + 1]))
    assert lists.reorder(np.array([2**60, 2**61])).item.tolist() == [1, 0]  # float64 holds both
    with pytest.raises(InputError, match="column 'weight'"):
        Interactions.from_frame(pd.DataFrame({"user": [1], "item": [1], "weight": [2**53 + 1]}))


def lists_of(item: Sequence[int], score: Array, columns: Mapping[str, Array] | None = None) -> RankedLists:
    indptr = np.array([0, len(item)])
    return RankedLists(np.array([0], dtype=np.int32), indptr, np.array(item, dtype=np.int32), score, columns or {})


@dataclass(frozen=True)
class Fixed:
    """A retriever of one list."""

    item: tuple[int, ...]
    score: tuple[float, ...]

    def fit(self, history: Interactions) -> Fixed:
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        return lists_of(self.item[:k], np.array(self.score[:k]))


@pytest.mark.parametrize("name", ["seconds", "microseconds", "saturated", "nearly equal", "large"])
def test_a_union_keeps_what_its_sources_tell_apart(name: str) -> None:
    history, requests = texts()
    score = tuple(SCALES[name](x) for x in (3, 2, 1))
    merged = Union({"only": Fixed((2, 0, 1), score)}, method="score").fit(history).retrieve(history, requests, 3)
    assert merged.item.tolist() == [2, 0, 1]
    assert len(set(merged.score.tolist())) == 3
    assert merged.columns["only_score"].tolist() == list(score)
    assert len(set(Score("only").fit(history)(merged, requests).tolist())) == 3
    assert len(set(Score().fit(history)(merged, requests).tolist())) == 3


def test_a_union_by_ranks_puts_the_larger_sum_first() -> None:
    """1/61 + 1/62 is a tie; a third source of weight 1e-7 decides it by 2.6e-11, which float32 cannot add to 0.03."""
    history, requests = texts()
    sources = {"x": Fixed((0, 1), (2.0, 1.0)), "y": Fixed((1, 0), (2.0, 1.0)), "z": Fixed((1, 0), (2.0, 1.0))}
    tied = Union({name: sources[name] for name in ("x", "y")}).fit(history).retrieve(history, requests, 3)
    assert tied.item.tolist() == [0, 1]  # by number
    assert tied.score[0] == tied.score[1]
    decided = Union(sources, weights={"z": 1e-7}).fit(history).retrieve(history, requests, 3)
    assert decided.item.tolist() == [1, 0]


@given(st.permutations(range(1, 7)), st.permutations(range(6)))
def test_equal_sums_of_ranks_are_equal_in_any_order(ranks: list[int], order: list[int]) -> None:
    """Item 0 has the same ranks as item 1, but from other sources."""
    history, requests = texts(9)

    def list_of(one: int, other: int) -> Fixed:
        items = list(range(2, 9))
        for rank, item in sorted(((one, 0), (other + (other == one), 1))):
            items.insert(rank - 1, item)
        return Fixed(tuple(items), tuple(-float(place) for place in range(9)))

    pairs = [(ranks[place], ranks[order[place]]) for place in range(6)]
    if any(one == other for one, other in pairs):
        return
    sources = {f"s{place}": list_of(one, other) for place, (one, other) in enumerate(pairs)}
    found = Union(sources).fit(history).retrieve(history, requests, 9)
    exact = {item: sum(1 / (60 + rank) for rank in sorted(ranks)) for item in (0, 1)}
    assert exact[0] == exact[1]
    assert found.item.tolist().index(0) + 1 == found.item.tolist().index(1)


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_best_items_are_those_of_the_exact_scores(scale: Function[[int], float], sparse: bool) -> None:
    from scipy.sparse import csr_array

    score = np.array([[scale(x) for x in values_of(query)] for query in range(5)])
    history, _ = texts(SHOWN)
    users = Entities(np.arange(5), {})
    history = Interactions(
        np.zeros(6, dtype=np.int64), history.item[:0], None, history.weight[:0], users, history.items
    )
    for table in (score, csr_array(score) if sparse else OfItems(score, np.arange(SHOWN))):
        lists = top_k(lambda block, t=table: t, history, Requests(np.arange(5, dtype=np.int32)), 3, "keep")  # type: ignore[misc]
        best = np.argsort(-score, axis=1, kind="stable")[:, :3]
        assert lists.item.reshape(5, 3).tolist() == best.tolist()
        assert lists.score.reshape(5, 3).tolist() == np.take_along_axis(score, best, axis=1).tolist()


@given(
    st.lists(st.lists(st.floats(allow_nan=False), min_size=6, max_size=6), min_size=1, max_size=3), st.integers(1, 7)
)
def test_top_of_table_is_a_plain_sort(rows: list[list[float]], k: int) -> None:
    table = np.array(rows)
    table[table == np.inf] = 1e300
    counts, column, value = top_of_table(table, k)
    for n, start, row in zip(counts, indptr_of(counts), table.tolist(), strict=False):
        best = sorted((at for at in range(6) if row[at] > -np.inf), key=lambda at: (-row[at], at))[:k]
        assert column[start : start + n].tolist() == best
        assert value[start : start + n].tolist() == [row[at] for at in best]


@dataclass(frozen=True)
class Clock:
    """A feature of one's own: seconds."""

    def fit(self, history: Interactions) -> Clock:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Array:
        return 1_700_000_000 + candidates.item.astype(np.int64)


@dataclass(frozen=True)
class Half:
    def fit(self, history: Interactions) -> Half:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Array:
        return candidates.item / 2


@dataclass(frozen=True)
class Huge:
    def fit(self, history: Interactions) -> Huge:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Array:
        return 2**60 + candidates.item.astype(np.int64)


def test_features_are_float32_where_that_is_exact_and_float64_elsewhere(tmp_path: Path) -> None:
    history, requests = texts(5)
    lists = Given().retrieve(history, requests, 5)
    assert design_matrix({"half": Half()}, lists, history, requests).dtype == np.float32
    features = {"clock": Clock(), "half": Half()}
    expected = np.column_stack([1.7e9 + lists.item, lists.item / 2])
    with Cache(tmp_path).used():
        for _ in range(2):  # computed, then from the stage cache
            table = design_matrix(features, lists, history, requests)
            assert table.dtype == np.float64
            assert table.tolist() == expected.tolist()
    with pytest.raises(InputError, match="feature huge: whole numbers beyond 2"):
        design_matrix({"huge": Huge()}, lists, history, requests)


def test_dates_of_a_file_are_exact(tmp_path: Path) -> None:
    (tmp_path / "dates.txt").write_text("0 qid:1 1:20180130 2:0.5\n1 qid:1 1:20180131 2:0.1\n")
    slates = Svmlight(str(tmp_path / "dates.txt")).load().slates
    assert slates is not None
    assert sorted(slates.columns["1"].tolist()) == [20180130, 20180131]
    assert slates.columns["2"].dtype == np.float32  # half the memory where that merges nothing


def test_a_feature_beyond_2_to_the_53_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("0 qid:1 1:5\n# comment\n\n1 qid:1 1:9007199254740993\n")
    with pytest.raises(InputError, match=r"rows.txt, line 4: 9007199254740993 is a whole number beyond 2\^53"):
        Svmlight(str(file)).load()
    file.write_text("0 qid:1 1:9007199254740992\n1 qid:1 1:1e20\n")  # float64 holds both
    slates = Svmlight(str(file)).load().slates
    assert slates is not None
    assert sorted(slates.columns["1"].tolist()) == [2.0**53, 1e20]


@pytest.mark.parametrize("kind", ["number", "number?"])
def test_numbers_of_a_table_stay_apart(kind: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1700000001,0.5\n1700000002,0.25\n")
    table = read(Source(tmp_path / "t.csv"), {"a": kind, "b": kind})
    assert table["a"].tolist() == [1700000001, 1700000002]
    assert table["b"].dtype == np.float32
    (tmp_path / "u.csv").write_text(f"a,b\n1,{2**53}\n2,{2**53 + 1}\n")
    with pytest.raises(InputError, match="column 'b': whole numbers beyond 2\\^53 such as 9007199254740993"):
        read(Source(tmp_path / "u.csv"), {"b": kind})


KINDS: Mapping[str, Function[[Array], pd.Series[Any]]] = {
    "int64": lambda x: pd.Series(x.astype(np.int64)),
    "uint64": lambda x: pd.Series(x.astype(np.uint64)),
    "Int64": lambda x: pd.Series(x.astype(np.int64), dtype="Int64"),
    "arrow": lambda x: pd.Series(x.astype(np.int64), dtype="int64[pyarrow]"),
}


@pytest.mark.parametrize("base", [2**53, 2**60, 2**62])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", ["score", "rank"])
def test_evaluate_reads_large_whole_numbers_exactly(column: str, kind: str, base: int) -> None:
    values = np.array([base + 1, base + 2, base + 3, 7], dtype=np.uint64)
    lists = pd.DataFrame({"user": [1, 1, 1, 2], "item": [1, 2, 3, 1], column: KINDS[kind](values)})
    truth = pd.DataFrame({"user": [1, 2], "item": [3 if column == "score" else 1, 1]})
    assert recx.evaluate(lists, truth, metrics=["hit_at_1", "mrr"]).means == {"hit_at_1": 1, "mrr": 1}


def test_a_file_of_large_scores_is_read_exactly(tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text(f"user,item,score\nu,a,{2**60 + 1}\nu,b,{2**60 + 2}\nv,a,1\n")
    (tmp_path / "truth.csv").write_text("user,item\nu,b\nv,a\n")
    found = recx.evaluate(tmp_path / "lists.csv", tmp_path / "truth.csv", metrics=["hit_at_1", "auc_pooled"])
    assert found.means["hit_at_1"] == 1


def test_float32_and_float64_lists_of_the_same_numbers_agree() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(size=200).astype(np.float32)
    lists = pd.DataFrame({"user": np.repeat(np.arange(20), 10), "item": np.tile(np.arange(10), 20), "score": score})
    truth = pd.DataFrame({"user": np.arange(20), "item": rng.integers(0, 10, 20)})
    metrics = ["ndcg_at_5", "auc", "auc_pooled"]
    wide = recx.evaluate(lists.astype({"score": np.float64}), truth, metrics=metrics).means
    assert recx.evaluate(lists, truth, metrics=metrics).means == wide


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), st.integers(1, 5))
def test_whole_numbers_sort_exactly(values: list[int], size: int) -> None:
    score = np.array(values, dtype=np.int64)
    borders = np.array([*range(0, len(values), size), len(values)])
    order = order_in_groups(score, borders)
    for start, stop in itertools.pairwise(borders):
        assert order[start:stop].tolist() == sorted(range(start, stop), key=lambda row: (-values[row], row))


@given(st.lists(st.floats(width=64, allow_nan=True, allow_infinity=False), max_size=20))
def test_narrowed_numbers_are_as_distinct_as_before(values: list[float]) -> None:
    wide = np.array(values)
    narrow = narrowed(wide)
    assert len(np.unique(narrow)) == len(np.unique(wide))
    assert (np.argsort(narrow, kind="stable") == np.argsort(wide, kind="stable")).all()
    assert np.isfinite(narrow[~np.isnan(wide)]).all()
    if fits_float32(wide):
        assert narrow.dtype == np.float32


def test_grades_stay_apart() -> None:
    frame = pd.DataFrame({"user": ["u", "u"], "item": [1, 2], "weight": [2**24 + 1, 2**24]})
    assert Interactions.from_frame(frame).weight.tolist() == [2**24 + 1, 2**24]
    assert Interactions.from_frame(frame.assign(weight=[0.1, 0.7])).weight.dtype == np.float32

"""The reference lines of a run against runs of the same retrievers, and their sample."""

from __future__ import annotations

from typing import Any

import pytest

import recx
from recx.experiment import reference_lines as module
from recx.experiment.experiment import Result
from recx.experiment.reference_lines import reference_lines

QUIET = ("tracker=console", "cache=off", "model=off")
SMALL = ("+experiment=news", "dataset.readers=150", "dataset.articles=80")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("runs")

    def result(*words: str) -> Result:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            return recx.run([*words, *QUIET])

    return result


@pytest.fixture(scope="module")
def popular(run: Any) -> Result:
    return run(*SMALL, "retriever=popularity", "ranker=identity")


@pytest.mark.parametrize("retriever", ["popularity", "random"])
def test_a_line_is_what_a_run_of_that_retriever_scores(run: Any, popular: Result, retriever: str) -> None:
    same = popular if retriever == "popularity" else run(*SMALL, "retriever=random", "ranker=identity")
    lines = reference_lines(popular)
    line = getattr(lines, retriever)
    assert lines.users == same.metrics["num_queries"]
    assert {"end_to_end/ndcg_at_5", "end_to_end/mrr", "retrieval/recall_at_50"} <= set(line)
    for name, value in line.items():
        assert value == pytest.approx(same.metrics[name]), name


def test_users_are_drawn_where_there_are_many(popular: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = reference_lines(popular)
    monkeypatch.setattr(module, "MOST_USERS", 60)
    monkeypatch.setattr(module, "FEWEST_USERS", 10)
    some = reference_lines(popular)
    assert some.users == 60 < whole.users
    assert some.popularity["end_to_end/ndcg_at_5"] != whole.popularity["end_to_end/ndcg_at_5"]
    monkeypatch.setattr(module, "PAIRS", 20 * popular.split.fold.history.n_items)
    assert reference_lines(popular).users == 20


def test_a_long_history_is_not_sorted_for_the_popular_line(popular: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EVENTS", len(popular.split.fold.history) - 1)
    lines = reference_lines(popular)
    assert not lines.popularity
    assert lines.random


def test_given_candidates_are_shuffled_and_have_no_popular_line(run: Any) -> None:
    result = run("+experiment=rerank", "dataset.queries=60")
    lines = reference_lines(result)
    assert not lines.popularity
    assert 0 < lines.random["end_to_end/ndcg_at_5"] < result.metrics["end_to_end/ndcg_at_5"]
    assert lines.random["retrieval/recall_at_50"] == pytest.approx(result.metrics["retrieval/recall_at_50"])


def test_a_run_that_keeps_seen_items_is_compared_with_lists_that_keep_them(popular: Result) -> None:
    assert reference_lines(popular, "keep").popularity != reference_lines(popular).popularity

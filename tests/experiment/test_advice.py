from __future__ import annotations

import math

import pytest

from recx.experiment.advice import advice

BASE = {"num_queries": 500.0, "end_to_end/users": 500.0, "end_to_end/mrr_at_10": 0.5}
# 1,000 targets of which all are among 100,000 candidates: always predicting 1 % has a log loss of 0.0560.
ROWS = {"data/targets": 1_000.0, "data/candidates": 100_000.0, "funnel/candidate_recall": 1.0}


def sentences_for(**figures: float) -> list[str]:
    return advice({**BASE, **{name.replace("__", "/"): value for name, value in figures.items()}})


@pytest.mark.parametrize(
    ("value", "word"),
    [(0.49, "too low"), (0.5, "usable"), (0.7, "good"), (0.89, "good"), (0.9, "excellent")],
)
def test_top_1_accuracy_is_compared_with_its_bounds(value: float, word: str) -> None:
    [sentence] = sentences_for(end_to_end__top_1_accuracy=value)
    assert f"top-1 accuracy {value:.3f} is {word}" in sentence


def test_top_1_low_and_top_3_high_points_at_the_weights() -> None:
    assert "weights" in sentences_for(end_to_end__top_1_accuracy=0.4, end_to_end__top_3_accuracy=0.85)[1]
    assert len(sentences_for(end_to_end__top_1_accuracy=0.4, end_to_end__top_3_accuracy=0.6)) == 1
    assert len(sentences_for(end_to_end__top_1_accuracy=0.6, end_to_end__top_3_accuracy=0.85)) == 1


@pytest.mark.parametrize(
    ("recall", "mrr", "words"),
    [
        (0.9, 0.2, ["work on the ranker", "0.900", "0.200"]),
        (0.3, 0.6, ["work on the retriever"]),
        (0.3, 0.2, ["look at the data"]),
        (0.6, 0.2, ["look for features"]),
        (0.9, 0.6, None),
        (0.6, 0.6, None),
    ],
)
def test_recall_and_mrr_show_which_stage_to_work_on(recall: float, mrr: float, words: list[str] | None) -> None:
    sentences = sentences_for(funnel__candidate_recall=recall, ranking__mrr_at_10=mrr)
    assert len(sentences) == (words is not None)
    assert all(word in sentences[0] for word in words or [])


@pytest.mark.parametrize(
    ("auc", "loss", "word"),
    [
        (0.9, 0.3, "calibrate"),
        (0.9, 0.05, "the ideal case"),
        (0.55, 0.3, "look at features, model and data"),
        (0.55, 0.05, "a subset only"),
        (0.7, 0.3, None),
    ],
)
def test_auc_and_log_loss_are_read_together(auc: float, loss: float, word: str | None) -> None:
    sentences = advice({**BASE, **ROWS, "end_to_end/auc": auc, "end_to_end/logloss": loss})
    assert len(sentences) == (word is not None)
    if word is not None:
        assert word in sentences[0]
        assert f"auc {auc:.3f}, log loss {loss:.3f} against 0.056" in sentences[0]


def test_few_queries_are_reported() -> None:
    assert "99 queries" in advice({**BASE, "num_queries": 99.0})[0]
    assert advice({**BASE, "num_queries": 100.0}) == []


def test_only_the_first_place_is_too_strict() -> None:
    alone = {"num_queries": 500.0, "end_to_end/users": 500.0, "end_to_end/hit_at_1": 0.95}
    assert "hit_at_1 alone is too strict" in advice(alone)[0]
    assert advice({**alone, "end_to_end/mrr": 0.97}) == []


def test_no_advice_without_figures() -> None:
    assert advice({"data/users": 3.0}) == []
    assert (
        sentences_for(ranking__mrr_at_10=math.nan, funnel__candidate_recall=0.9, end_to_end__top_1_accuracy=math.nan)
        == []
    )
    assert advice({**BASE, "end_to_end/auc": 0.9, "end_to_end/logloss": 0.9}) == []  # the base rate is unknown


@pytest.mark.parametrize(
    ("recall", "mrr", "word"),
    [
        (0.8, 0.29, "work on the ranker"),
        (0.79, 0.29, "look for features"),
        (0.5, 0.29, "look for features"),
        (0.49, 0.29, "look at the data"),
        (0.49, 0.3, "work on the retriever"),
        (0.5, 0.3, None),
        (0.8, 0.3, None),
    ],
)
def test_recall_and_mrr_on_both_sides_of_their_bounds(recall: float, mrr: float, word: str | None) -> None:
    sentences = sentences_for(funnel__candidate_recall=recall, ranking__mrr_at_10=mrr)
    assert [word in sentence for sentence in sentences] == [True] * (word is not None)


@pytest.mark.parametrize(
    ("auc", "loss", "word"),
    [
        (0.75, 0.0561, "calibrate"),
        (0.75, 0.0559, "the ideal case"),
        (0.749, 0.0561, None),
        (0.6, 0.0561, None),
        (0.599, 0.0561, "features, model and data"),
        (0.599, 0.0559, "a subset only"),
    ],
)
def test_auc_and_log_loss_on_both_sides_of_their_bounds(auc: float, loss: float, word: str | None) -> None:
    sentences = advice({**BASE, **ROWS, "end_to_end/auc": auc, "end_to_end/logloss": loss})
    assert [word in sentence for sentence in sentences] == [True] * (word is not None)


@pytest.mark.parametrize(("first", "third", "reported"), [(0.49, 0.8, True), (0.49, 0.79, False), (0.5, 0.8, False)])
def test_top_1_and_top_3_on_both_sides_of_their_bounds(first: float, third: float, reported: bool) -> None:
    sentences = sentences_for(end_to_end__top_1_accuracy=first, end_to_end__top_3_accuracy=third)
    assert any("weights" in sentence for sentence in sentences) is reported


def test_a_low_recall_of_the_index_is_said_with_the_way_out() -> None:
    [sentence] = sentences_for(retrieval__ann_recall=0.8, retrieval__text_ann_recall=0.99)
    assert sentence.startswith("retrieval/ann_recall 0.800 is below 0.95")
    [sentence] = sentences_for(retrieval__faiss_ann_recall=0.94)
    assert "retrieval/faiss_ann_recall 0.940" in sentence


def test_an_index_that_does_the_work_of_an_exact_search_is_said() -> None:
    counts = {"data__requests": 1000, "data__faiss_requests_searched_exactly": 101}
    [sentence] = sentences_for(**counts)
    assert "101 of 1,000 requests were compared with every item" in sentence
    assert not sentences_for(**{**counts, "data__faiss_requests_searched_exactly": 100})

"""Building parts: older paths of classes are answered with where the class is now."""

from __future__ import annotations

from importlib import import_module

import pytest

from recx.config.factory import locate, moved
from recx.core.errors import InputError

BEFORE = [
    "recx.benchmark.rerank.Rerank",
    "recx.dataset.agents.Agents",
    "recx.dataset.judged.Judged",
    "recx.dataset.mind.Mind",
    "recx.dataset.movielens.MovieLens",
    "recx.dataset.news.News",
    "recx.dataset.sequences.Sequences",
    "recx.dataset.svmlight.Svmlight",
    "recx.dataset.synthetic_judged.SyntheticJudged",
    "recx.dataset.table.Table",
    "recx.dataset.tool_selection.ToolSelection",
    "recx.encoder.tfidf.Tfidf",
    "recx.evaluator.lines.Evaluator",
    "recx.evaluator.metric.NamedMetric",
    "recx.feature.coclick.PhiCoop",
    "recx.feature.coclick.Transition",
    "recx.feature.content.Age",
    "recx.feature.content.CategoryShare",
    "recx.feature.content.PhiRel",
    "recx.feature.content.PhiStruct",
    "recx.feature.content.Words",
    "recx.feature.graph.Attached",
    "recx.feature.graph.CoOccurrence",
    "recx.feature.graph.PhiCoop",
    "recx.feature.graph.PhiHist",
    "recx.feature.graph.PhiRel",
    "recx.feature.graph.PhiStruct",
    "recx.feature.graph.Transition",
    "recx.feature.graph_tasks.Votes",
    "recx.feature.past_tasks.NearestTasks",
    "recx.feature.past_tasks.PastTasks",
    "recx.feature.past_tasks.PastWords",
    "recx.feature.popularity.Clicks",
    "recx.feature.popularity.PeerClicks",
    "recx.feature.popularity.Trend",
    "recx.feature.reader.Times",
    "recx.feature.retrieval.Rank",
    "recx.feature.retrieval.Score",
    "recx.feature.slate.Columns",
    "recx.feature.tool.Naming",
    "recx.feature.tool.Relevance",
    "recx.feature.tool.Structure",
    "recx.feature.tool.Usage",
    "recx.feature.words.Bm25",
    "recx.feature.words.Length",
    "recx.pruner.median.Median",
    "recx.ranker.bm25.Bm25",
    "recx.ranker.callable.Callable",
    "recx.ranker.cosine.Cosine",
    "recx.ranker.identity.Identity",
    "recx.ranker.linear.Linear",
    "recx.report.detailed_results.DetailedResults",
    "recx.report.submission.Submission",
    "recx.retriever.ease.EASE",
    "recx.retriever.faiss.Faiss",
    "recx.retriever.given.Given",
    "recx.retriever.item_knn.ItemKNN",
    "recx.retriever.popularity.Popularity",
    "recx.retriever.random.Random",
    "recx.retriever.text.Text",
    "recx.retriever.union.Union",
    "recx.split.by_query.ByQuery",
    "recx.split.by_time.ByTime",
    "recx.split.by_user.ByUser",
    "recx.split.leave_last.LeaveLast",
    "recx.tracker.console.Console",
    "recx.tracker.mlflow.MLflow",
]
"""Every ``_target_`` of the option files before the modules moved into folders."""


def test_an_older_path_is_answered_with_the_class_that_exists() -> None:
    for target in BEFORE:
        now = moved(target)
        assert now is not None, target
        module, _, name = now.rpartition(".")
        assert isinstance(vars(import_module(module))[name], type)
        with pytest.raises(InputError, match=rf"^stage\._target_={target}: this class is {now} now"):
            locate(target, "stage")


def test_a_path_of_today_did_not_move() -> None:
    assert moved("recx.parts.retriever.union.Union") is None
    assert locate("recx.parts.retriever.union.Union", "retriever").__name__ == "Union"

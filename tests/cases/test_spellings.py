"""A metric in a paper's spelling is answered with ours wherever a metric is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recx
from recx.cli.commands import evaluate as command
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.evaluation.evaluator import Evaluator
from recx.jobs.launch import objective

LISTS = pd.DataFrame({"user": [1, 1], "item": [1, 2], "score": [2.0, 1.0]})
TRUTH = pd.DataFrame({"user": [1], "item": [2]})


def run(name: str) -> Evaluation:
    return Evaluation(np.arange(3), {"end_to_end/ndcg_at_10": np.zeros(3)}, name=name)


def test_evaluate() -> None:
    for given, ours in (("HR@10", "hit_at_10"), ("MRR", "mrr"), ("MAP@5", "map_at_5"), ("P@5", "precision_at_5")):
        with pytest.raises(InputError, match=f"no metric '{given}': it is called {ours} here"):
            recx.evaluate(LISTS, TRUTH, [given])
    with pytest.raises(InputError, match="no metric 'HR': it is called hit here"):
        recx.metric("HR", k=10)


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (["--metrics", "ndcg_at_5,NDCG@10"], "ndcg_at_10"),
        (["--metrics", "HR@10", "--k", "5"], "hit_at_10"),
        (["--metrics", "NDCG", "--k", "5"], "ndcg_at_5"),
        (["--metrics", "Recall@20"], "recall_at_20"),
    ],
)
def test_the_command(here: Path, words: list[str], ours: str) -> None:
    LISTS.to_csv("r.csv", index=False)
    TRUTH.to_csv("t.csv", index=False)
    with pytest.raises(InputError, match=f"it is called {ours} here"):
        command.run(["r.csv", "t.csv", *words])


def test_the_evaluator_of_a_chain() -> None:
    with pytest.raises(InputError, match=r"evaluator\.end_to_end: .* 'NDCG@10': it is called ndcg_at_10 here"):
        Evaluator((), (), ["NDCG@10"])


def test_compare_interval_and_objective() -> None:
    with pytest.raises(InputError, match="a has no metric 'NDCG@10': it is called end_to_end/ndcg_at_10 here"):
        recx.compare(run("a"), run("b"), ["NDCG@10"])
    with pytest.raises(InputError, match="it is called end_to_end/ndcg_at_10 here"):
        run("a").interval("end_to_end/NDCG@10")

    class Result:
        metrics = {"end_to_end/ndcg_at_10": 0.5}

    with pytest.raises(InputError, match=r"objective=NDCG@10: .* it is called end_to_end/ndcg_at_10 here"):
        objective(Result(), "NDCG@10")  # type: ignore[arg-type]

"""Figures that need probabilities are refused before any work where the scores are known to be none."""

from __future__ import annotations

import pytest

from recx.config.compose import compose, plain
from recx.core.errors import InputError
from recx.experiment.build import experiment
from recx.experiment.scores import check_probabilities

LOGLOSS = "evaluator.end_to_end=[ndcg_at_5,logloss]"


def check(*words: str) -> None:
    check_probabilities(experiment(plain(compose(["+experiment=news", *words]))))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([LOGLOSS], "evaluator.end_to_end: logloss needs probabilities, and the scores of Linear are none"),
        ([LOGLOSS, "ranker=identity"], "the scores of Union are none"),
        ([LOGLOSS, "ranker=identity", "retriever=item_knn"], "the scores of ItemKNN are none"),
        ([LOGLOSS, "ranker=bm25"], "the scores of Bm25 are none: choose ranker=linear with ranker.probabilities=platt"),
        ([LOGLOSS, "ranker=cosine"], "the scores of Cosine are none"),
        (["evaluator.ranking=[logloss]"], "evaluator.ranking: logloss needs"),
        (["evaluator.tables=[reliability]"], "evaluator.tables: reliability needs"),
        (
            ["evaluator.retrieval=[logloss]", "ranker.probabilities=platt"],
            "evaluator.retrieval: logloss needs probabilities, and the scores of Union are none: judge the ranker's",
        ),
    ],
)
def test_scores_that_are_known_to_be_no_probabilities_are_refused(words: list[str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        check(*words)


@pytest.mark.parametrize(
    "words",
    [
        [LOGLOSS, "ranker.probabilities=softmax"],
        [LOGLOSS, "ranker.probabilities=platt", "evaluator.tables=[reliability,roc_curve]"],
        [LOGLOSS, "ranker=identity", "retriever=given"],  # the data may bring probabilities
        [LOGLOSS, "ranker=callable", "ranker.object=a:b"],  # nobody knows
        [LOGLOSS, "fold=predict"],  # nothing is evaluated
        ["evaluator.end_to_end=[auc,accuracy]"],  # only the order, or a threshold of any scale
    ],
)
def test_probabilities_and_scores_that_nobody_knows_pass(words: list[str]) -> None:
    check(*words)

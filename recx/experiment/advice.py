"""What the figures of a run call for, one sentence each with the figures it goes by.

The bounds are rules of thumb, told with each sentence so that anyone can hold another view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import log

Metrics = Mapping[str, float]

USABLE, GOOD, EXCELLENT = 0.5, 0.7, 0.9  # of the top-1 accuracy
HIGH_TOP_3, LOW_MRR, HIGH_RECALL, LOW_RECALL = 0.8, 0.3, 0.8, 0.5
HIGH_AUC, LOW_AUC = 0.75, 0.6
FEW_QUERIES = 100


def advice(metrics: Metrics) -> list[str]:
    """Return what a run's figures, by their full names, call for; nothing where no figure was judged."""
    return [sentence for rule in RULES for sentence in rule(metrics)] if "num_queries" in metrics else []


def top_1(metrics: Metrics) -> Iterator[str]:
    first, third = _of(metrics, "end_to_end/top_1_accuracy"), _of(metrics, "end_to_end/top_3_accuracy")
    if first is None:
        return
    word = (
        "excellent" if first >= EXCELLENT else "good" if first >= GOOD else "usable" if first >= USABLE else "too low"
    )
    yield f"top-1 accuracy {first:.3f} is {word} ({USABLE} is usable, {GOOD} good, {EXCELLENT} excellent)"
    if third is not None and first < USABLE and third >= HIGH_TOP_3:
        yield (
            f"top-1 accuracy {first:.3f} is low and top-3 {third:.3f} high: the right candidate is near the top, so "
            "work on the weights of the features (ranker.l2, ranker.missed, more users to learn from)"
        )


def ranks(metrics: Metrics) -> Iterator[str]:
    """Hold the retriever's recall against how high the ranker puts what it was given."""
    recall = _of(metrics, "funnel/candidate_recall")
    mrr = _of(metrics, "ranking/mrr", "ranking/mrr_at_10")
    if recall is None or mrr is None:
        return
    if recall < LOW_RECALL and mrr < LOW_MRR:
        yield (
            f"candidate recall {recall:.3f} and mrr of the ranking {mrr:.3f} are both low: look at the data first "
            "(`python -m recx doctor`)"
        )
    elif recall < LOW_RECALL:
        yield f"candidate recall {recall:.3f} is low and mrr of the ranking {mrr:.3f} is not: work on the retriever"
    elif recall >= HIGH_RECALL and mrr < LOW_MRR:
        yield (
            f"candidate recall {recall:.3f} is high and mrr of the ranking {mrr:.3f} low: work on the ranker and its "
            "features, which do not tell the right candidates from the others"
        )
    elif mrr < LOW_MRR:
        yield f"mrr of the ranking {mrr:.3f} is low: look for features that tell the right candidates from the others"


def probabilities(metrics: Metrics) -> Iterator[str]:
    """Read AUC (is the order right?) and log loss (are the probabilities?) together."""
    auc = _of(metrics, "end_to_end/auc_pooled", "end_to_end/auc", "calibration/auc_after")
    loss = _of(metrics, "end_to_end/logloss", "calibration/logloss_after")
    base = _loss_of_the_base_rate(metrics)
    if auc is None or loss is None or base is None:
        return
    told = f"auc {auc:.3f}, log loss {loss:.3f} against {base:.3f} for always saying the base rate"
    if auc >= HIGH_AUC and loss > base:
        yield f"{told}: the order is good and the probabilities are not: calibrate them (ranker.probabilities=platt)"
    elif auc < LOW_AUC and loss > base:
        yield f"{told}: neither order nor probabilities hold: look at features, model and data"
    elif auc < LOW_AUC:
        yield f"{told}: it is right about a subset only: find it with `recx compare RUN RUN --by history_length`"


def queries(metrics: Metrics) -> Iterator[str]:
    n = metrics["num_queries"]
    if n < FEW_QUERIES:
        yield f"{n:.0f} queries are fewer than {FEW_QUERIES}: a difference between two runs may well be chance"


def strictness(metrics: Metrics) -> Iterator[str]:
    """Say so where nothing but the very first place is looked at."""
    judged = {name.removeprefix("end_to_end/") for name in metrics if name.startswith("end_to_end/")} - {"users"}
    if judged and judged <= {"hit_at_1", "top_1_accuracy", "precision_at_1"}:
        yield (
            f"{', '.join(sorted(judged))} alone is too strict, since a second place counts as nothing: "
            "add mrr_at_10, ndcg_at_10 or top_3_accuracy to evaluator.end_to_end"
        )


RULES: tuple[Callable[[Metrics], Iterator[str]], ...] = (top_1, ranks, probabilities, queries, strictness)


def _of(metrics: Metrics, *names: str) -> float | None:
    """Return the first of these figures that there is; None where none is a number."""
    return next((metrics[name] for name in names if name in metrics and metrics[name] == metrics[name]), None)


def _loss_of_the_base_rate(metrics: Metrics) -> float | None:
    """Return about the log loss of saying the share of targets among the candidates for every row."""
    targets, candidates = _of(metrics, "data/targets"), _of(metrics, "data/candidates")
    recall = _of(metrics, "funnel/candidate_recall")
    if not targets or not candidates or not recall:
        return None
    share = min(targets * recall / candidates, 1.0)
    return 0.0 if share == 1 else -share * log(share) - (1 - share) * log(1 - share)

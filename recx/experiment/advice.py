"""What the figures of a run call for: one sentence each, with the figures it is based on.

The bounds are rules of thumb, shown in each sentence so that anyone can disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import log
from typing import TYPE_CHECKING

from recx.core.ann_recall import SHORT
from recx.core.notes import MADE_UP
from recx.experiment.click_advice import BY_CHANCE, left_out, readings

if TYPE_CHECKING:
    from recx.experiment.doctor import Finding

Metrics = Mapping[str, float]

USABLE, GOOD, EXCELLENT = 0.5, 0.7, 0.9  # of the top-1 accuracy
HIGH_TOP_3, LOW_MRR, HIGH_RECALL, LOW_RECALL = 0.8, 0.3, 0.8, 0.5
HIGH_AUC, LOW_AUC = 0.75, 0.6
FEW_QUERIES = 100
LOW_ANN_RECALL, MANY_EXACT = 0.95, 0.1
LEAK = "texts_on_both_sides"


def advice(metrics: Metrics, findings: Iterable[Finding] = ()) -> list[str]:
    """Return what a run's figures call for.

    Args:
        metrics: Every figure of the run by its full name, see ``Result.metrics``.
        findings: What the doctor found; only what makes the figures too good is said here.

    Returns:
        One sentence for each rule that applies; none if nothing was evaluated.
    """
    leaks = [one for one in findings if one.name == LEAK and one.verdict == "bad"]
    said = [f"the figures may be too good for {one.share:.0%} of the requests: {one.why}" for one in leaks]
    rules = RULES if "num_queries" in metrics else ()
    return said + [sentence for rule in rules for sentence in rule(metrics)]


def made_up(metrics: Metrics) -> Iterator[str]:
    """Say that the data is made up."""
    if f"data/{MADE_UP}" in metrics:
        yield (
            "the data is made up, so the figures show that the chain works and nothing about real data: name your own, "
            "such as dataset.path=DIR"
        )


def top_1(metrics: Metrics) -> Iterator[str]:
    """Grade the top-1 accuracy, and compare it with the top-3 accuracy."""
    first, third = _first(metrics, "end_to_end/top_1_accuracy"), _first(metrics, "end_to_end/top_3_accuracy")
    if first is None:
        return
    grade = next((name for name, bound in _GRADES.items() if first >= bound), "too low")
    yield f"top-1 accuracy {first:.3f} is {grade} ({USABLE} is usable, {GOOD} good, {EXCELLENT} excellent)"
    if third is not None and first < USABLE and third >= HIGH_TOP_3:
        yield (
            f"top-1 accuracy {first:.3f} is low and top-3 {third:.3f} high: the right candidate is near the top, so "
            "work on the weights of the features (ranker.l2, ranker.missed, more users to learn from)"
        )


def ranks(metrics: Metrics) -> Iterator[str]:
    """Compare the recall of the candidates with how high the ranker puts the targets among them."""
    recall, mrr = _first(metrics, "funnel/candidate_recall"), _first(metrics, "ranking/mrr", "ranking/mrr_at_10")
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
            "features, which do not separate the right candidates from the others"
        )
    elif mrr < LOW_MRR:
        yield f"mrr of the ranking {mrr:.3f} is low: look for features that separate right candidates from others"


def probabilities(metrics: Metrics) -> Iterator[str]:
    """Read AUC, whether the order is right, together with log loss, whether the probabilities are."""
    if BY_CHANCE in metrics:
        return  # read by their intervals (see ``recx.experiment.click_advice``)
    auc = _first(metrics, "end_to_end/auc_pooled", "end_to_end/auc", "calibration/auc_after")
    loss, base = _first(metrics, "end_to_end/logloss", "calibration/logloss_after"), _loss_of_the_base_rate(metrics)
    if auc is None or loss is None or base is None:
        return
    figures = f"auc {auc:.3f}, log loss {loss:.3f} against {base:.3f} for always predicting the base rate"
    if auc >= HIGH_AUC and loss > base:
        yield f"{figures}: the order is good and the probabilities are not: calibrate them (ranker.probabilities=platt)"
    elif auc >= HIGH_AUC:
        yield f"{figures}: the order and the probabilities are good: this is the ideal case"
    elif auc < LOW_AUC and loss > base:
        yield f"{figures}: neither the order nor the probabilities are good: look at features, model and data"
    elif auc < LOW_AUC:
        yield f"{figures}: it is right about a subset only: find it with `recx compare RUN RUN --by history_length`"


def queries(metrics: Metrics) -> Iterator[str]:
    """Warn of a small number of queries."""
    n = metrics["num_queries"]
    if n < FEW_QUERIES:
        yield f"{n:.0f} queries are fewer than {FEW_QUERIES}: a difference between two runs may well be chance"


def strictness(metrics: Metrics) -> Iterator[str]:
    """Warn if only the very first place counts."""
    judged = {name.removeprefix("end_to_end/") for name in metrics if name.startswith("end_to_end/")} - {"users"}
    if judged and judged <= {"hit_at_1", "top_1_accuracy", "precision_at_1"}:
        yield (
            f"{', '.join(sorted(judged))} alone is too strict, since a second place counts for nothing: "
            "add mrr_at_10, ndcg_at_10 or top_3_accuracy to evaluator.end_to_end"
        )


def far_values(metrics: Metrics) -> Iterator[str]:
    """Name values of features that are far from all that the ranker learned from."""
    n = _first(metrics, "data/ranker_values_cut")
    if n:
        yield (
            f"{n:.0f} values of features are more than 100 deviations away from the mean of what ranker=linear learned "
            "from, and count as 100: some feature hardly varied there, or means something else now; look at its weight"
        )


def approximation(metrics: Metrics) -> Iterator[str]:
    """Say what an approximate index misses, and where it does the work of an exact one."""
    for name, recall in metrics.items():
        if name.startswith("retrieval/") and name.endswith("ann_recall") and recall < LOW_ANN_RECALL:
            yield (
                f"{name} {recall:.3f} is below {LOW_ANN_RECALL}: the index misses items that are nearer than what it "
                "finds; raise ef_search (HNSW), nprobe (IVF) or fetch of the retriever, or choose index=Flat"
            )
    for name, n in metrics.items():
        if name.startswith("data/") and name.endswith(SHORT) and n > MANY_EXACT * metrics["data/requests"]:
            yield (
                f"{n:,.0f} of {metrics['data/requests']:,.0f} requests were compared with every item, since too few of "
                "those that the index proposed may be shown: raise fetch of the retriever, or choose index=Flat"
            )


def clock(metrics: Metrics) -> Iterator[str]:
    """Say that times are no dates, if nobody said that they are not meant to be."""
    n, events = metrics.get("data/undated_times", 0), metrics.get("data/events", 0)
    if n:
        yield (
            f"{n:,.0f} times, of {events:,.0f} events, lie before 1980 or after 2096: if they count from a start of "
            "their own, set dataset.relative_times=true and dataset.time_unit to what they count; otherwise windows "
            "and ages are wrong"
        )


RULES: tuple[Callable[[Metrics], Iterator[str]], ...] = (
    made_up,
    top_1,
    ranks,
    probabilities,
    readings,
    left_out,
    queries,
    strictness,
    far_values,
    approximation,
    clock,
)
_GRADES = {"excellent": EXCELLENT, "good": GOOD, "usable": USABLE}


def _first(metrics: Metrics, *names: str) -> float | None:
    """Return the first of these figures that is a number; None if none is."""
    return next((metrics[name] for name in names if name in metrics and metrics[name] == metrics[name]), None)


def _loss_of_the_base_rate(metrics: Metrics) -> float | None:
    """Return the approximate log loss of predicting the share of targets among the candidates for every row."""
    targets, candidates = _first(metrics, "data/targets"), _first(metrics, "data/candidates")
    recall = _first(metrics, "funnel/candidate_recall")
    if not targets or not candidates or not recall:
        return None
    share = min(targets * recall / candidates, 1.0)
    return 0.0 if share == 1 else -share * log(share) - (1 - share) * log(1 - share)

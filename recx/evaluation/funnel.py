"""The fourth line: where hits are lost on the way to the user, and what the ranker adds."""

from __future__ import annotations

from collections.abc import Iterable

from recx.core.judged_lists import JudgedLists
from recx.core.types import Doubles
from recx.evaluation.metrics import ranking


def funnel(retrieved: JudgedLists, recommended: JudgedLists, cuts: Iterable[int]) -> dict[str, Doubles]:
    """Return name -> one value a user [n_users] for the judged candidates and recommendations of the same users.

    candidate_recall: share of the targets that were retrieved: the ceiling of every ranker.
    lost_in_retrieval: 1 for a user of whose targets none was retrieved.
    lost_in_ranking_at_k: 1 for a user of whose targets one was retrieved and none is among the first k.
    lift_ndcg_at_k: NDCG of the recommendations minus that of the retriever's own order.

    The two losses at k and ``hit_at_k`` of the recommendations add up to 1 for every user.
    """
    found = ranking.hit(retrieved, None)
    lines = {
        "funnel/candidate_recall": ranking.recall(retrieved, None),
        "funnel/lost_in_retrieval": 1 - found,
    }
    for k in cuts:
        lines[f"funnel/lost_in_ranking_at_{k}"] = found - ranking.hit(recommended, k)
        lines[f"funnel/lift_ndcg_at_{k}"] = ranking.ndcg(recommended, k) - ranking.ndcg(retrieved, k)
    return lines

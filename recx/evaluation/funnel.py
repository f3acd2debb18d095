"""Where targets are lost on the way to the user, and what the ranker adds."""

from __future__ import annotations

from collections.abc import Iterable

from recx.core.judged_lists import JudgedLists
from recx.core.types import Doubles
from recx.evaluation.metrics import ranking


def funnel(retrieved: JudgedLists, recommended: JudgedLists, cuts: Iterable[int]) -> dict[str, Doubles]:
    """Compare the judged candidates with the judged recommendations of the same users.

    For every user, the two losses at k and ``hit_at_k`` of the recommendations add up to 1.

    Args:
        retrieved: The candidates.
        recommended: The recommendations.
        cuts: The k of the figures that are cut.

    Returns:
        Name -> one value per user [n_users]:

        - ``candidate_recall``: share of the targets that were retrieved, the upper bound of every ranker.
        - ``lost_in_retrieval``: 1 if none of the user's targets was retrieved.
        - ``lost_in_ranking_at_k``: 1 if a target was retrieved but none is among the first k.
        - ``lift_ndcg_at_k``: NDCG of the recommendations minus that of the retriever's own order.
    """
    found = ranking.hit(retrieved, None)
    values = {"funnel/candidate_recall": ranking.recall(retrieved, None), "funnel/lost_in_retrieval": 1 - found}
    for k in cuts:
        values[f"funnel/lost_in_ranking_at_{k}"] = found - ranking.hit(recommended, k)
        values[f"funnel/lift_ndcg_at_{k}"] = ranking.ndcg(recommended, k) - ranking.ndcg(retrieved, k)
    return values

"""What the built-in metrics mean, in a line each: for the protocol card and `python -m recx list metric`."""

from __future__ import annotations

METRICS: dict[str, str] = {
    "hit": "1 if any target is in the first k",
    "top_1_accuracy": "hit_at_1: 1 if a target stands first",
    "top_3_accuracy": "hit_at_3: 1 if a target is in the first 3",
    "recall": "targets shown in the first k / all targets",
    "precision": "targets shown in the first k / k, also for short lists",
    "f": "2PR/(P+R) of precision P and recall R at k",
    "f2": "5PR/(4P+R)",
    "f05": "1.25PR/(0.25P+R)",
    "cg": "sum of the gains shown",
    "dcg": "sum of gain/log2(rank+1)",
    "ndcg": "dcg / dcg of the ideal list, made of all targets of the line and cut at k",
    "dcg_exp": "sum of (2^gain-1)/log2(rank+1)",
    "ndcg_exp": "dcg_exp / dcg_exp of the ideal list, made of all targets of the line and cut at k",
    "map": "sum of P(i)*rel(i) / min(k, targets)",
    "map_trec": "sum of P(i)*rel(i) / targets",
    "mrr": "1/rank of the first target within k, else 0",
    "err": "sum over ranks r of 1/r * R_r * prod_{i<r}(1-R_i), R=(2^gain-1)/2^max_grade",
    "cascade": "chance that a user who reads from the top stops within k: 1 - prod_{i<=k}(1-R_i), R as in err",
    "auc": "chance that a target is scored above a non-target of the list, a tie counts 1/2; one-class users left out",
    "auc_weighted": "auc, users weighted by the rows of their lists (one number)",
    "auc_pooled": "auc over the rows of all users together (one number)",
    "logloss": "-mean[y log p + (1-y) log(1-p)] over all rows, p clipped at 1e-15 (one number)",
    "accuracy": "share of all rows on the right side of the threshold (one number)",
    "class_precision": "targets among the rows scored from the threshold on / those rows (one number)",
    "class_recall": "targets scored from the threshold on / targets shown (one number)",
    "class_f": "2PR/(P+R) of class_precision and class_recall; class_f1, class_f2, class_f05 (one number)",
    "coverage": "distinct items shown in the first k / items of the catalogue (one number)",
    "gini": "Gini index of how often each item of the catalogue is shown in the first k; 0: all alike (one number)",
    "entropy": "Shannon entropy, in bits, of the items' shares of what is shown in the first k (one number)",
    "hit_num": "number of users with a target in the first k (one number)",
    "num_queries": "number of users judged (one number)",
    "novelty": "mean self-information log2(users / users who had the item) of the items shown in the first k",
    "popularity": "mean number of history events of the items shown in the first k",
    "diversity": "mean over pairs of the items shown in the first k of 1 - cosine of their embeddings",
    "category_diversity": "share of pairs of the items shown in the first k that differ in category",
    "serendipity": "targets shown in the first k that the k most popular items are without / k",
    "new_items": "share of the items shown in the first k without an event in the history",
}
"""Name without ``_at_k`` -> definition, per user unless it says otherwise; without ``_at_k`` the list is not cut."""

FUNNEL: dict[str, str] = {
    "candidate_recall": "mean share of a user's targets among the candidates",
    "lost_in_retrieval": "share of users with no target among the candidates",
    "lost_in_ranking": "share of users with a target among the candidates and none in the first k",
    "lift_ndcg": "end-to-end ndcg minus ndcg of the retriever's own order, at k",
}
"""The same for the figures between the lines."""

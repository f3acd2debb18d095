"""Two stages of RecTools on a file of clicks: ``python scale_rectools.py FILE``, with a Python that has RecTools.

It needs CatBoost too (``rectools[catboost]``) and, to read the file, PyArrow.

Every user's last click is left out, and the ranker learns from the one before, as in the chain that it stands beside:
100 candidates of item-kNN (200 neighbours) and of popularity each, ranks and scores as features, CatBoost of 100 trees
on the positives and three negatives a user, lists of 100, what the user has clicked is left out, two threads.
Prints seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import pandas as pd
import rectools
from catboost import CatBoostRanker
from implicit.nearest_neighbours import CosineRecommender
from rectools import Columns
from rectools.dataset import Dataset
from rectools.model_selection import LastNSplitter
from rectools.models import ImplicitItemKNNWrapperModel, PopularModel
from rectools.models.ranking import CandidateGenerator, CandidateRankingModel, CatBoostReranker, PerUserNegativeSampler

clicks = pd.read_parquet(sys.argv[1]).sort_values(["user", "time"], kind="stable")
known = clicks[clicks.duplicated("user", keep="last")]
names = {"user": Columns.User, "item": Columns.Item, "time": Columns.Datetime}
table = known.rename(columns=names).assign(**{Columns.Weight: 1.0})
table[Columns.Datetime] = pd.to_datetime(table[Columns.Datetime], unit="s")

started = time.perf_counter()
dataset = Dataset.construct(table)
sources = (ImplicitItemKNNWrapperModel(CosineRecommender(K=200, num_threads=2)), PopularModel())
model = CandidateRankingModel(
    [CandidateGenerator(source, 100, True, True, scores_fillna_value=0, ranks_fillna_value=101) for source in sources],
    LastNSplitter(1, n_splits=1),
    CatBoostReranker(CatBoostRanker(iterations=100, thread_count=2, random_state=0, verbose=False)),
    PerUserNegativeSampler(3, 0),
)
model.fit(dataset)
fitted = time.perf_counter()
model.recommend(known.user.unique(), dataset, k=100, filter_viewed=True, force_fit_candidate_generators=True)
spent = {"fit": fitted - started, "recommend": time.perf_counter() - fitted}
print(json.dumps({**spent, "version": rectools.__version__}))

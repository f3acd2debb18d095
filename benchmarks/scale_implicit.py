"""Item-kNN of implicit on a file of clicks: ``python scale_implicit.py FILE``, with a Python that has implicit.

Every user's last click is left out; 200 neighbours, lists of 100, what the user has clicked is left out, two threads.
Prints seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import implicit
import numpy as np
import pandas as pd
from implicit.nearest_neighbours import CosineRecommender
from scipy import sparse

clicks = pd.read_parquet(sys.argv[1]).sort_values(["user", "time"], kind="stable")
known = clicks[clicks.duplicated("user", keep="last")]
user, (item, names) = known.user.to_numpy(), pd.factorize(known.item)
table = sparse.csr_matrix((np.ones(len(user), np.float32), (user, item)), shape=(user.max() + 1, len(names)))

started = time.perf_counter()
model = CosineRecommender(K=200, num_threads=2)
model.fit(table, show_progress=False)
fitted = time.perf_counter()
users = np.unique(user)
for start in range(0, len(users), 10_000):
    asked = users[start : start + 10_000]
    model.recommend(asked, table[asked], N=100, filter_already_liked_items=True)
spent = {"fit": fitted - started, "recommend": time.perf_counter() - fitted}
print(json.dumps({**spent, "version": implicit.__version__}))

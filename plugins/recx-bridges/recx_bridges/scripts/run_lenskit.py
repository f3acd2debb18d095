"""Scorers of LensKit (MIT) by recx's files."""

import pickle

import lenskit.als
import lenskit.basic
import lenskit.flexmf
import lenskit.funksvd
import lenskit.knn.ease
import lenskit.knn.item
import lenskit.knn.slim
import lenskit.knn.user
import numpy as np
import pandas as pd
from lenskit.data import ItemList, RecQuery, from_interactions_df
from lenskit.training import TrainingOptions
from recx_files import Task

NEAR = (lenskit.knn.ease, lenskit.knn.item, lenskit.knn.slim, lenskit.knn.user)
MODELS = (lenskit.als, *NEAR, lenskit.basic, lenskit.flexmf, lenskit.funksvd)


def main():
    task = Task.of_command_line()
    kind, file = task.class_in(*MODELS), task.model_folder / "model.pkl"
    user, item = task.clicks()
    if task.task == "fit":
        data = from_interactions_df(pd.DataFrame({"user_id": user, "item_id": item, "rating": 1.0}))
        usual = {"feedback": "implicit"} if "KNN" in task.model else {}
        model = kind(**{**usual, **task.settings})
        model.train(data, TrainingOptions(rng=task.seed))
        file.write_bytes(pickle.dumps(model))
        return
    model = pickle.loads(file.read_bytes())  # its only form; recx has checked that it is as it was left
    everything = ItemList(item_ids=np.arange(task.n_items))
    borders = np.searchsorted(user, np.arange(task.n_users + 1))

    def scores(users):
        table = np.full((len(users), task.n_items), np.nan)
        for row, one in enumerate(users):
            clicked = item[borders[one] : borders[one + 1]]
            own = ItemList(item_ids=clicked, rating=np.ones(len(clicked)))
            found = model(query=RecQuery(user_id=int(one), user_items=own), items=everything)
            table[row] = found.scores()
        return table

    known = np.diff(borders) > 0
    task.answer(scores, known)


main()

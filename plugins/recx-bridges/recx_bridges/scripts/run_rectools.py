"""Models of RecTools (Apache 2.0) by recx's files."""

import inspect

import numpy as np
import pandas as pd
import rectools.models
from rectools import Columns
from rectools.dataset import Dataset
from recx_files import Task

ROWS = 20_000_000  # that recommend may return at once


def dataset_of(task):
    history = task.history()
    order = np.arange(len(history["user"]))  # each user's oldest first, which stands in for times where there are none
    time = pd.to_datetime(history["time"], unit="ms") if "time" in history else pd.to_datetime(order, unit="s")
    frame = {Columns.User: history["user"], Columns.Item: history["item"], Columns.Weight: 1.0}
    return Dataset.construct(pd.DataFrame({**frame, Columns.Datetime: time}))


def main():
    task = Task.of_command_line()
    kind, file = task.class_in(rectools.models), str(task.model_folder / "model.pkl")
    if task.task == "fit":
        known = inspect.signature(kind).parameters
        usual = {"verbose": 1, "deterministic": True, "random_state": task.seed}
        if "epochs" in known:
            from pytorch_lightning import seed_everything

            seed_everything(task.seed, workers=True)
        model = kind(**{**{name: value for name, value in usual.items() if name in known}, **task.settings})
        model.fit(dataset_of(task))
        model.save(file)
        return
    model, data = rectools.models.load_model(file), dataset_of(task)
    asked = task.requests()
    asked = asked[np.isin(asked, data.user_id_map.external_ids)]
    n_items = len(data.item_id_map.external_ids)
    # Which items are there yet differs between requests, so more are asked for, of which recx_files takes the best.
    k = min(n_items, task.k if not task.has_times() else max(10 * task.k, ROWS // max(1, len(asked))))
    lists = model.recommend(asked, data, k, filter_viewed=task.seen == "drop", on_unsupported_targets="ignore")
    task.answer_rows(lists[Columns.User].to_numpy(), lists[Columns.Item].to_numpy(), lists[Columns.Score].to_numpy())


main()

"""Models of Cornac (Apache 2.0) by recx's files."""

import inspect
import pickle

import cornac.models
import numpy as np
from cornac.data import Dataset
from recx_files import Task


def main():
    task = Task.of_command_line()
    kind, file = task.class_in(cornac.models), task.model_folder / "model.pkl"
    user, item = task.clicks()
    if task.task == "fit":
        known = inspect.signature(kind).parameters
        usual = {"seed": task.seed, "num_threads": task.threads, "verbose": True}
        model = kind(**{**{name: value for name, value in usual.items() if name in known}, **task.settings})
        data = Dataset.from_uir([(one, other, 1.0) for one, other in zip(user, item, strict=True)], seed=task.seed)
        model.fit(data)
        file.write_bytes(pickle.dumps(model))
        return
    model = pickle.loads(file.read_bytes())  # its only form; recx has checked that it is as it was left
    number = np.full(task.n_users, -1)
    for raw, inner in model.uid_map.items():
        number[raw] = inner
    place = np.array([raw for raw, _ in sorted(model.iid_map.items(), key=lambda pair: pair[1])])

    def scores(users):
        table = np.full((len(users), task.n_items), np.nan)
        for row, one in enumerate(users):
            table[row, place] = np.asarray(model.score(int(number[one])))[: len(place)]
        return table

    task.answer(scores, number >= 0)


main()

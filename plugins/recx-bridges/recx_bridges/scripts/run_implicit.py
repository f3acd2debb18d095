"""Models of implicit (MIT) by recx's files: factors of users and items, and neighbours of items."""

import inspect

import implicit.als
import implicit.bpr
import implicit.lmf
import implicit.nearest_neighbours
import numpy as np
from recx_files import Task
from scipy import sparse

MODELS = (implicit.cpu.als, implicit.cpu.bpr, implicit.cpu.lmf, implicit.nearest_neighbours)


def matrix(task):
    user, item = task.clicks()
    return sparse.csr_matrix((np.ones(len(user), np.float32), (user, item)), (task.n_users, task.n_items))


def main():
    task = Task.of_command_line()
    kind = task.class_in(*MODELS)
    file = str(task.model_folder / "model.npz")
    if task.task == "fit":
        known = inspect.signature(kind).parameters
        usual = {"num_threads": task.threads, "random_state": task.seed}
        model = kind(**{name: value for name, value in usual.items() if name in known}, **task.settings)
        model.fit(matrix(task), show_progress=False)
        model.save(file)
        return
    model = kind.load(file)
    clicks = matrix(task)
    if hasattr(model, "similarity"):  # neighbours of items: by what the user has now
        similarity = sparse.csr_matrix(model.similarity)
        task.answer(lambda users: nothing_as_inf((clicks[users] @ similarity).toarray()))
    else:  # factors: of the users who had events at the fit
        users, items = np.asarray(model.user_factors), np.asarray(model.item_factors)
        known = np.zeros(task.n_users, dtype=bool)
        known[: len(users)] = clicks.getnnz(axis=1)[: len(users)] > 0
        task.answer(lambda some: users[some] @ items.T, known)


def nothing_as_inf(table):
    table[table == 0] = -np.inf
    return table


main()

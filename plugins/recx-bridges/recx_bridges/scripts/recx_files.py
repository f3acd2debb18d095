"""The files of recx (docs/how-to/external.md) for the scripts beside: NumPy and PyArrow are all that it needs.

The scripts run in the environment of a library, so this module knows nothing of recx's own.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CELLS = 16_000_000  # of a block of scores


class Task:
    """What recx asks for: ``task``, ``k``, ``seed``, ``threads``, ``seen``, the name of the model and its settings."""

    def __init__(self, folder):
        told = json.loads((Path(folder) / "settings.json").read_text(encoding="utf-8"))
        if told["contract"] != 1:
            raise SystemExit(f"this script knows version 1 of recx's files, and these are of {told['contract']}")
        self.folder, self.model_folder = Path(folder), Path(told["model"])
        self.task, self.k, self.seed, self.threads = told["task"], told.get("k"), told["seed"], told["threads"]
        self.seen, self.model, self.settings = told["seen"], told["settings"]["model"], told["settings"]["settings"]
        self.n_users = pq.read_metadata(self.folder / "users.parquet").num_rows
        self.n_items = pq.read_metadata(self.folder / "items.parquet").num_rows

    @classmethod
    def of_command_line(cls):
        """Return the task of the folder that the command line names."""
        return cls(sys.argv[-1])

    def read(self, name):
        """Return the columns of a file that it has, by name, as arrays."""
        table = pq.read_table(self.folder / f"{name}.parquet")
        kept = [name for name in ("user", "item", "time", "weight", "since", "allowed") if name in table.column_names]
        return {name: table[name].to_numpy() for name in kept}

    def history(self):
        """Return the events: user, item, weight and, where there are times, time."""
        return self.read("history")

    def requests(self):
        """Return the users who ask."""
        return self.read("requests")["user"]

    def has_times(self):
        """Return whether the data has times, so that some items may be shown to some only."""
        return "time" in self.read("requests")

    def clicks(self):
        """Return two arrays: the distinct pairs of user and item in the history, users increasing."""
        history = self.history()
        pair = np.unique(history["user"].astype(np.int64) * self.n_items + history["item"])
        return pair // self.n_items, pair % self.n_items

    def class_in(self, *modules):
        """Return the class that the model's name means, which one of these modules must have."""
        known = {name: found for module in modules for name, found in vars(module).items() if _is_class(module, name)}
        if self.model not in known:
            raise SystemExit(f"there is no model {self.model!r}: choose one of {', '.join(sorted(known))}")
        return known[self.model]

    def answer(self, scores, users=None):
        """Write the lists of all requests.

        Args:
            scores: Returns the scores [n, n_items] of some users [n]; -inf or NaN: not to be shown.
            users: Which users the model knows [n_users]; None: all.
        """
        asked, blocks = self.requests(), []
        known = asked if users is None else asked[users[asked]]
        size = max(1, CELLS // max(1, self.n_items))
        for start in range(0, len(known), size):
            some = known[start : start + size]
            blocks.append(self._best(some, np.array(scores(some), dtype=np.float64)))
            print(f"{min(start + size, len(known))}/{len(known)} lists", flush=True)
        self._write(*(np.concatenate([block[of] for block in blocks]) if blocks else [] for of in range(3)))

    def answer_rows(self, user, item, score):
        """Write lists from rows of a library's own, of which those that may not be shown are left out."""
        user, item, score = np.asarray(user), np.asarray(item), np.asarray(score, dtype=np.float64)
        users, place = np.unique(user, return_inverse=True)
        order, borders = np.argsort(place, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(place))])
        shown = np.isfinite(score)
        for row, hidden in enumerate(self._hidden_of(users)):
            rows = order[borders[row] : borders[row + 1]]
            shown[rows] &= ~hidden[item[rows]]
        self._write(user[shown], item[shown], score[shown])

    def _best(self, users, table):
        """Return user, item and score of the best that may be shown, of scores [n, n_items]."""
        for row, hidden in enumerate(self._hidden_of(users)):
            table[row, hidden] = -np.inf
        table[~np.isfinite(table)] = -np.inf
        k = min(self.k, self.n_items)
        item = np.argpartition(-table, k - 1, axis=1)[:, :k]
        score = np.take_along_axis(table, item, axis=1)
        kept = score > -np.inf
        return np.repeat(users, kept.sum(axis=1)), item[kept], score[kept]

    def _hidden_of(self, users):
        """Yield which items may not be shown to each user [n_items]: seen ones, not there yet, not allowed."""
        items, now = self.read("items"), self._now()
        of_user, seen = self.clicks()
        borders = np.searchsorted(of_user, np.arange(self.n_users + 1))
        never = ~items["allowed"].astype(bool) if "allowed" in items else np.zeros(self.n_items, dtype=bool)
        for user in users:
            hidden = never.copy()
            if now is not None:  # null, in an item that is never there, became NaN
                hidden |= ~(items["since"] < now[user])
            if self.seen == "drop":
                hidden[seen[borders[user] : borders[user + 1]]] = True
            yield hidden

    def _now(self):
        """Return the time of each user's request [n_users]; None without times."""
        requests = self.read("requests")
        if "time" not in requests:
            return None
        now = np.zeros(self.n_users, dtype=np.int64)
        now[requests["user"]] = requests["time"]
        return now

    def _write(self, user, item, score):
        kinds = {"user": (user, pa.int64()), "item": (item, pa.int64()), "score": (score, pa.float64())}
        columns = {name: pa.array(values, kind) for name, (values, kind) in kinds.items()}
        pq.write_table(pa.table(columns), self.folder / "lists.parquet")


def _is_class(module, name):
    """Return whether a name of a module of a library means a class of this library."""
    found = vars(module)[name]
    own = getattr(found, "__module__", "").partition(".")[0] == module.__name__.partition(".")[0]
    return isinstance(found, type) and own and not name.startswith("_")

"""A log of eight days, a run that was fitted on five of them, and others on what it was then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recx
from recx.experiment.model.model import Model
from recx.jobs.replay.run import Replayed, Wanted
from recx.jobs.replay.run import replayed as replayed_by

DAY = 86_400_000
START = 1_600_041_600_000  # 2020-09-14, midnight
USERS, ITEMS, DAYS = 60, 25, 8
COLUMNS = ("dataset.user=uid", "dataset.item=sku", "dataset.time=ts")
CHAIN = (
    *("retriever=item_knn", "ranker=linear", "feature=basic", "n_candidates=12", "seen=keep"),
    *("tracker=console", "cache=off", "runtime.threads=1", "split=by_time", "split.window=1d"),
)


def clicks(days: int = DAYS) -> pd.DataFrame:
    """Return three clicks a day of most users: on items near those of their own, which drift by half an item a day."""
    rng, rows = np.random.default_rng(3), []
    for day in range(days):
        for user in np.flatnonzero(rng.random(USERS) < 0.7):
            near = (user // 3 + day // 2 + rng.integers(0, 6, 3)) % ITEMS
            moments = START + day * DAY + np.sort(rng.integers(0, DAY - 1, 3))
            rows += [(f"u{user}", f"i{item}", moment) for item, moment in zip(near, moments, strict=True)]
        rows.append(("u0", "i1", START + (day + 1) * DAY - 1))  # so that each day ends at midnight
    return pd.DataFrame(rows, columns=["uid", "sku", "ts"]).drop_duplicates(["uid", "ts"])


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with logs and runs: ``judged`` on day 6 of all days, ``early`` fitted on the first five."""
    folder = tmp_path_factory.mktemp("replays")
    log = clicks()
    log.to_csv(folder / "log.csv", index=False)
    log[log["ts"] < START + 5 * DAY].to_csv(folder / "early.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, data, more in (
            ("judged", "log.csv", ["split.skip=2"]),
            ("early", "early.csv", ["fold=predict"]),
        ):
            path = [f"dataset.path={folder / data}", f"hydra.run.dir=outputs/{name}", f"name={name}"]
            recx.run(["+experiment=table", *COLUMNS, *CHAIN, *path, *more])
    return folder


@pytest.fixture
def replayed(home: Path) -> Callable[..., Replayed]:
    """Return what replays a log of the home against one of its runs."""

    def of(run: str, log: str | Path = "log.csv", **settings: object) -> Replayed:
        wanted = Wanted(home / log, **settings)  # type: ignore[arg-type]
        return replayed_by(Model.of(home / "outputs" / run / "model"), wanted)

    return of

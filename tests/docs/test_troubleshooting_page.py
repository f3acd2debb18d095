"""The messages that docs/how-to/troubleshooting.md shows are those that come."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recx.cli import main as cli

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "troubleshooting.md").read_text(encoding="utf-8")
SECTIONS = {
    part.partition("\n")[0]: re.findall(r"^```text\n(.*?)\n```$", part, re.DOTALL | re.MULTILINE)
    for part in PAGE.split("\n## ")[1:]
}
LOG = "+experiment=table dataset.path=log.csv dataset.user=uid dataset.item=sku dataset.time=ts"
CHAIN = f"{LOG} dataset.time_unit=s retriever=item_knn ranker=identity"


def provoked(line: str) -> Callable[[Path], int]:
    """Return what runs a command in this process; it returns the exit code."""

    def run(_: Path) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["recx", *shlex.split(line)])
            return cli.main()

    return run


def raising(error: BaseException) -> Callable[[Path], int]:
    """Return what ends a command by an error that a test cannot bring about: no memory is left, Ctrl-C."""

    def run(_: Path) -> int:
        def dispatch(_: list[str]) -> int:
            raise error

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cli, "_dispatch", dispatch)
            return cli.main()

    return run


def of_another_split(folder: Path) -> int:
    """Compare two runs whose targets are not the same."""
    for more, where in (("", "a"), (" split=by_time split.window=1h", "b")):
        assert provoked(f"{CHAIN} tracker=console hydra.run.dir={where}{more}")(folder) == 0
    return provoked("compare a b --metrics end_to_end/ndcg_at_5")(folder)


def with_a_locked_store(folder: Path) -> int:
    """Run while another program has the store for itself."""
    provoked(f"{CHAIN} tracker.uri=sqlite:///mlflow.db")(folder)
    with closing(sqlite3.connect("mlflow.db", isolation_level=None)) as opened:
        opened.execute("BEGIN EXCLUSIVE")
        return provoked(f"{CHAIN} tracker.uri=sqlite:///mlflow.db")(folder)


def without_a_home(_: Path) -> int:
    """Run where nothing that is compiled can be kept."""
    command = [sys.executable, "-m", "recx", *CHAIN.split(), "tracker=console", "cache=off"]
    done = subprocess.run(command, env={**os.environ, "XDG_CACHE_HOME": os.devnull}, capture_output=True, text=True)
    sys.stdout.write(done.stdout + done.stderr)
    return done.returncode


def without_a_gpu(_: Path) -> int:
    """Ask for a GPU where there is none; the plugin is not among those that tests see, so it is asked itself."""
    torch = pytest.importorskip("torch")
    device = pytest.importorskip("recx_transformer.device")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    try:
        device.device_of("cuda")
    except cli.RecxError as error:
        sys.stderr.write(str(error))
        return error.exit_code
    return 0


PROVOKED: dict[str, list[tuple[Callable[[Path], int], int]]] = {
    "An option or a plugin is not found": [(provoked(f"{CHAIN} retriever=two_tower"), 2)],
    "Times are in another unit": [(provoked(LOG), 2)],
    "Ids are read as numbers, and zeros are lost": [
        (provoked(f"{CHAIN} dataset.path=zeros.csv dataset.items=items.csv tracker=console"), 2),
        (provoked("evaluate lists.csv truth.csv --metrics hit_at_1"), 2),
    ],
    "The ranker has nothing to learn from": [
        (provoked(f"{LOG} dataset.path=once.csv dataset.time_unit=s tracker=console"), 2)
    ],
    "Recall is 1.0": [(provoked(f"doctor {CHAIN}"), 0)],
    "Figures differ between two machines": [(of_another_split, 2)],
    "Not enough memory": [
        (raising(MemoryError()), 1),
        (provoked(f"{CHAIN} retriever=ease retriever.max_items=10 tracker=console"), 2),
    ],
    "Every run compiles anew": [(without_a_home, 0)],
    "The MLflow store is locked": [(with_a_locked_store, 1)],
    "The MLflow server does not answer": [
        (provoked(f"{CHAIN} tracker.uri=http://127.0.0.1:9"), 1),
        (provoked(f"{CHAIN} tracker.uri=mlruns"), 2),
    ],
    "A trial of a sweep failed": [
        (provoked(f"-m {CHAIN} retriever=item_knn,given fold=valid tracker=console"), 1),
    ],
    "The GPU is not used": [(without_a_gpu, 2)],
    "A run was interrupted": [(raising(KeyboardInterrupt()), 130)],
}
"""Section -> what brings about each of its messages, in their order, and the exit code."""


def test_every_message_of_the_page_is_provoked() -> None:
    shown = {title: len(messages) for title, messages in SECTIONS.items() if messages}
    assert {title: len(ways) for title, ways in PROVOKED.items()} == shown


def write_small_data(folder: Path) -> None:
    """Write logs of clicks (as usual, with zeros before the ids, each item once), items without zeros, and lists."""
    rng = np.random.default_rng(0)
    log = pd.DataFrame({"uid": np.repeat(np.arange(40), 6), "sku": rng.integers(0, 25, 240)})
    log = log.assign(ts=1_700_000_000 + 60 * np.arange(240)).drop_duplicates(["uid", "sku"])
    log.to_csv(folder / "log.csv", index=False)
    log.assign(sku=log["sku"].map("{:04}".format)).to_csv(folder / "zeros.csv", index=False)
    log.assign(sku=range(len(log))).to_csv(folder / "once.csv", index=False)
    pd.DataFrame({"sku": range(25), "category": ["tea", "coffee", "milk", "bread", "jam"] * 5}).to_csv(
        folder / "items.csv", index=False
    )
    (folder / "lists.csv").write_text("user,item,score\n1,7,0.9\n2,8,0.8\n", encoding="utf-8")
    (folder / "truth.csv").write_text("user,item\n1,007\n2,008\n", encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "place"), [(title, place) for title, ways in PROVOKED.items() for place in range(len(ways))]
)
def test_the_message_comes(title: str, place: int, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    way, code = PROVOKED[title][place]
    write_small_data(here)
    assert way(here) == code
    said = capfd.readouterr()
    found = " ".join((said.out + said.err).split())
    expected = ".*".join(map(re.escape, " ".join(SECTIONS[title][place].split()).split("…")))
    assert re.search(expected, found), found[-2000:]

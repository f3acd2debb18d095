"""Two stages beside the best single retriever: `python benchmarks/run.py two_stages`.

The retriever was chosen on `fold=valid` among popularity, item_knn, markov, vsknn, stan, rp3beta, slim, ease and ials,
each with its default settings; it is item_knn on both data sets. Figures are of test, the last event of every user;
the interval is that of the paired bootstrap over users, as `python -m recx compare` has it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from run import DATA, run

METRIC = "end_to_end/ndcg_at_10"
ALONE = ("retriever=item_knn", "ranker=identity")
EASE = ("retriever=union_ease", "feature=basic_ease")
CASES: dict[str, tuple[str, tuple[str, ...], dict[str, tuple[str, ...]]]] = {
    "beauty": ("beauty/Beauty.txt.gz", ("+experiment=sequences",), {"union + linear": ()}),
    "ml-100k": (
        "ml-100k/ml-100k.inter.gz",
        ("+experiment=table", "dataset=recbole"),
        {"union + linear": (), f"`{' '.join(EASE)}`": EASE},
    ),
}
"""Data set -> its file, the words that choose it, and the chains with the words that make each."""


def figures() -> Iterator[tuple[str, str, str]]:
    """Yield a row for each chain."""
    for name, (file, words, chains) in CASES.items():
        path = DATA / file
        if not path.is_file():
            yield name, "not measured", f"no {path}"
            continue
        with tempfile.TemporaryDirectory() as folder:
            run(*words, f"dataset.path={path}", *ALONE, "hydra.run.dir=alone", folder=folder)
            for number, (chain, more) in enumerate(chains.items()):
                run(*words, f"dataset.path={path}", *more, f"hydra.run.dir=chain{number}", folder=folder)
                found = _compared("alone", f"chain{number}", Path(folder))
                single, two = found["mean_baseline"], found["mean_run"]
                low, high = found["difference_low"], found["difference_high"]
                yield (
                    f"{name}: item_knn alone, {chain}, and the difference: ndcg_at_10",
                    f"{single:.4f}, {two:.4f}, {two - single:+.4f} [{low:+.4f}, {high:+.4f}]",
                    "above 0",
                )


def _compared(alone: str, chain: str, folder: Path) -> dict[str, Any]:
    """Return what `recx compare` says of two runs in a folder."""
    command = [sys.executable, "-m", "recx", "compare", alone, chain, "--metrics", METRIC, "--json"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    row: dict[str, Any] = json.loads(done.stdout)["rows"][0]
    return row

"""Programs for the tests of external parts: scripts that need NumPy and PyArrow alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from recx.core.system.child import Ended

READ = """
import json, sys
from pathlib import Path
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
folder = Path(sys.argv[-1])
told = json.loads((folder / "settings.json").read_text())
model = Path(told["model"]) / "learnt.npy"
def read(name):
    table = pq.read_table(folder / f"{name}.parquet")
    return {key: table[key].to_numpy() for key in table.column_names}
def answer(user, item, score):
    pq.write_table(pa.table({"user": user, "item": item, "score": score}), folder / "lists.parquet")
"""

POPULAR = """
history, items = read("history"), read("items")
if told["task"] == "fit":
    np.save(model, np.bincount(history["item"], minlength=len(items["id"])))
    sys.exit()
clicks, requests = np.load(model), read("requests")
user = np.repeat(requests["user"], len(clicks))
item = np.tile(np.arange(len(clicks)), len(requests["user"]))
answer(user, item, clicks[item].astype(np.float32))
"""
"""All items, the most clicked first: recx drops what may not be shown."""

BY_CLICKS = """
history, items, candidates = read("history"), read("items"), read("candidates")
if told["task"] == "fit":
    target = read("target")
    np.save(model, np.bincount(target["item"], minlength=len(items["id"])))
    sys.exit()
learnt = np.load(model)
order = np.argsort(candidates["item"], kind="stable")  # any order will do
user, item = candidates["user"][order], candidates["item"][order]
answer(user, item, learnt[item] + 0.5 * candidates["score"][order])
"""


def command(script: str) -> tuple[str, ...]:
    """Return the command that runs a script after ``READ``."""
    return (sys.executable, "-c", READ + script)


def in_process(
    command: Sequence[str], environment: Mapping[str, str], seconds: float | None, show: Callable[[str], None]
) -> Ended:
    """Stand in for ``child.run``: run the script here, which takes no second to start."""
    _, _, script, folder = command
    before, sys.argv = sys.argv, ["-c", folder]
    try:
        exec(compile(script, "<script>", "exec"), {})  # of this module alone
    except SystemExit:
        pass
    finally:
        sys.argv = before
    return Ended(0, ())

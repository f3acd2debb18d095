"""The unit costs of docs/scale.md: what an event, an item and a request of the default chain cost, on one thread.

`python benchmarks/units.py [USERS ITEMS EVENTS]`. CPU seconds of this process, which other processes hardly change, and
bytes of what is held, sent to a machine and sent back; where Ray is installed, also what a block costs there.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
from scale import TABLE, file_of

from recx.config.compose import compose, plain
from recx.core.system.memory import MIB, peak
from recx.core.system.threads import limited_to
from recx.core.types import Array, Requests
from recx.experiment import build
from recx.experiment.blocks import Serving

T = TypeVar("T")
REQUESTS = 20_000  # that are retrieved and ranked


def cpu(make: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    return make(), time.process_time() - start


def sent(value: Any) -> int:
    """Return the bytes of a value as Ray sends it."""
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(text) + sum(buffer.raw().nbytes for buffer in buffers)


def show(what: str, value: float, unit: str) -> None:
    print(f"{what:<60} {value:>10,.3g} {unit}", flush=True)


def chain(users: float, items: float, events: float) -> None:
    with file_of(users, items, events) as path:
        words = ["+experiment=table", f"dataset.path={path}", *TABLE]
        experiment = build.experiment(plain(compose([*words, f"split.max_users={REQUESTS}"])))
        before = peak()
        (_, split), seconds = cpu(experiment.load_and_split)
    past, now = split.past, split.fold
    assert past is not None
    show("load and split: an event", seconds / len(now.history) * 1e6, "microseconds")
    show("load and split: memory of an event", (peak() - before) * MIB / len(now.history), "bytes")
    show("history: an event", sent(now.history) / len(now.history), "bytes")
    fitted, seconds = cpu(lambda: experiment.retriever.fit(now.history))
    show("fit the retriever: an event", seconds / len(now.history) * 1e6, "microseconds")
    show("load, split and fit: memory of an event", (peak() - before) * MIB / len(now.history), "bytes")
    show("fitted retriever: an item", sent(fitted) / now.history.n_items, "bytes")
    early = experiment.retriever.fit(past.history)
    candidates = Serving(early, None, past.history, experiment.n_candidates)(past.requests).lists[0]
    ranker, seconds = cpu(lambda: experiment.ranker.fit(candidates, past))
    show(f"fit the ranker on {past.requests.user.size:,} requests", seconds, "seconds")
    serving = Serving(fitted, ranker, now.history, experiment.n_candidates)
    serving(now.requests[:100])  # compiles, and prepares what follows from the history
    found, seconds = cpu(lambda: fitted.retrieve(now.history, now.requests, experiment.n_candidates))
    show("retrieve: a request", seconds / len(now.requests) * 1e6, "microseconds")
    lists, seconds = cpu(lambda: ranker.rank(found, now.history, now.requests))
    show("rank: a request", seconds / len(now.requests) * 1e6, "microseconds")
    show("lists: a request", sent((found, lists)) / len(now.requests), "bytes")
    report, seconds = cpu(lambda: experiment.evaluator.evaluate(found, lists, now))
    show("evaluate: a request", seconds / len(report.users) * 1e6, "microseconds")


@dataclass(frozen=True)
class Nothing:
    """Serves a block by sending as many bytes back as the chain does."""

    def __call__(self, requests: Requests) -> Array:
        return np.zeros((len(requests), 5_210), dtype=np.uint8)


def ray() -> None:
    from recx.experiment.engine.ray import Ray

    blocks = (Requests(np.arange(32_768, dtype=np.int32)) for _ in range(21))
    times = [time.perf_counter()]
    times += [time.perf_counter() for _ in Ray().each(Nothing(), blocks)]
    show("Ray: from its start to the first block", times[1] - times[0], "seconds")
    show("Ray: a block of 171 MB sent back", (times[-1] - times[1]) / 20, "seconds")


if __name__ == "__main__":
    sizes = [float(word) for word in sys.argv[1:]] or [3e5, 1.5e5, 6e6]
    with limited_to(1):
        chain(*sizes)
        if find_spec("ray") is not None:
            ray()

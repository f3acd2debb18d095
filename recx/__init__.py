"""Recommendation experiments from parts: dataset, split, retriever, ranker, evaluator, tracker.

``recx.run(["+experiment=news"])`` runs what the command line runs. ``recx.Experiment(...)`` is the same chain without
configuration files. ``recx.evaluate`` judges lists from anywhere, ``recx.compare`` tells which are better.
"""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recx import results
    from recx.comparison import Comparison, compare
    from recx.compose import run
    from recx.evaluation import Evaluation
    from recx.evaluator.metric import metric
    from recx.experiment import Experiment, Result
    from recx.judging import evaluate

__version__ = "0.1.0"
STARTED = time_ns()
"""When this process imported recx, in unix nanoseconds."""

__all__ = [
    "Comparison",
    "Evaluation",
    "Experiment",
    "Result",
    "compare",
    "evaluate",
    "metric",
    "results",
    "run",
]

_HOME = {
    "Comparison": "recx.comparison",
    "Evaluation": "recx.evaluation",
    "Experiment": "recx.experiment",
    "Result": "recx.experiment",
    "compare": "recx.comparison",
    "evaluate": "recx.judging",
    "metric": "recx.evaluator.metric",
    "run": "recx.compose",
}


def __getattr__(name: str) -> object:
    # Late, so that the command line can choose the number of threads before numpy is loaded.
    from importlib import import_module

    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name == "results":  # so that recx.results.load("last") needs no import of its own
        return import_module("recx.results")
    raise AttributeError(f"module 'recx' has no attribute {name!r}")

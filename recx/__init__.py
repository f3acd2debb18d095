"""Recommendation experiments from parts: dataset, split, retriever, ranker, evaluator, tracker.

``recx.run(["+experiment=news"])`` runs what the command line runs, ``recx.sweep`` a sweep, ``recx.study`` a study.
``recx.Experiment(...)`` is the same chain without configuration files. ``recx.load_model("last")`` recommends with the
chain of a finished run, and ``recx.replay`` watches it on later events. ``recx.evaluate`` evaluates lists from any
source, ``recx.compare`` compares evaluations, ``recx.ab`` compares the arms of an online test, and ``recx.clicks.fit``
estimates from a log of clicks what items are worth.
"""

import sys

if (
    sys.argv[:1] == ["-m"]  # which another program may be too, that imports recx
    and f" {sys.orig_argv[-len(sys.argv)]}".partition(".")[0].endswith((" recx", "mrecx"))  # also of -mrecx and -Bmrecx
    and not sys.flags.safe_path
):
    # `python -m` puts the current folder first, so that a file there would replace any library that is imported below.
    _here = sys.path.pop(0)
    if __file__.startswith(f"{_here}/recx/"):
        sys.path.append(_here)  # recx itself lies there, in a checkout

from typing import TYPE_CHECKING

from recx.core.version import __version__ as __version__

if TYPE_CHECKING:
    from recx import clicks, results
    from recx.core.evaluation import Evaluation
    from recx.evaluation.ab.ab import ab
    from recx.evaluation.ab.outcome import ABTest
    from recx.evaluation.agreement import agreement
    from recx.evaluation.compare import Comparison, compare
    from recx.evaluation.evaluate import evaluate
    from recx.evaluation.metrics.registry import metric
    from recx.evaluation.systems import evaluate_systems
    from recx.experiment.experiment import Experiment, Result
    from recx.experiment.model.model import load_model
    from recx.jobs.from_python import doctor, run, study, sweep
    from recx.jobs.replay.start import replay
    from recx.jobs.reproduce.run import reproduce

__all__ = [
    "ABTest",
    "Comparison",
    "Evaluation",
    "Experiment",
    "Result",
    "ab",
    "agreement",
    "clicks",
    "compare",
    "doctor",
    "evaluate",
    "evaluate_systems",
    "load_model",
    "metric",
    "replay",
    "reproduce",
    "results",
    "run",
    "study",
    "sweep",
]

_HOME = {
    "ABTest": "recx.evaluation.ab.outcome",
    "Comparison": "recx.evaluation.compare",
    "Evaluation": "recx.core.evaluation",
    "Experiment": "recx.experiment.experiment",
    "Result": "recx.experiment.experiment",
    "ab": "recx.evaluation.ab.ab",
    "agreement": "recx.evaluation.agreement",
    "compare": "recx.evaluation.compare",
    "doctor": "recx.jobs.from_python",
    "evaluate": "recx.evaluation.evaluate",
    "evaluate_systems": "recx.evaluation.systems",
    "load_model": "recx.experiment.model.model",
    "metric": "recx.evaluation.metrics.registry",
    "replay": "recx.jobs.replay.start",
    "reproduce": "recx.jobs.reproduce.run",
    "run": "recx.jobs.from_python",
    "study": "recx.jobs.from_python",
    "sweep": "recx.jobs.from_python",
}


def __getattr__(name: str) -> object:
    # Lazy, so that the command line can set the number of threads before NumPy is loaded.
    from importlib import import_module

    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in ("clicks", "results"):  # so that recx.results.load("last") works without another import
        return import_module(f"recx.{name}")
    raise AttributeError(f"module 'recx' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

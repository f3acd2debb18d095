"""The contract check of trackers: a run that is logged to, and one that fails."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from recx.core.run_context import RunContext
from recx.core.trackers import (
    MODEL,
    Field,
    KeptModel,
    ModelForm,
    ModelRun,
    Run,
    SweepTracker,
    Tracker,
    Verdict,
)
from recx.testing.rules import expect

PARAMS: Mapping[str, Any] = {"seed": 0, "ranker": {"_target_": "a.b.C", "l2": 0.1, "names": ["a", "b"]}, "report": None}
"""Settings as a run has them: nested, with lists and null."""

FORM = ModelForm(
    loader="recx.pyfunc",
    requirements=["numpy==2.4.6"],
    inputs=[Field("user", "string"), Field("item", "string", needed=False)],
    params=[Field("k", "long", default=10)],
    outputs=[Field("user", "string"), Field("item", "string")],
    example={"user": ["u1", "u2"]},
)
"""How a model is loaded and asked, which this check does not do."""
METHODS = ("log_metrics", "log_curves", "log_table", "log_tags", "log_dataset", "describe", "log_files")


class _Alone:
    """A contest without others."""

    files = ()

    def verdict(self, champion: Path | None) -> Verdict:
        return Verdict(champion is None, "it is the only one")


def check_tracker(tracker: Tracker) -> None:
    """Raise AssertionError unless the tracker takes what a run logs, and lets through the error that ends a run.

    What it keeps is up to it; test that too: for one, that a run that ended by an error is recorded as failed.
    """
    name = type(tracker).__name__
    for context in (RunContext(), RunContext(name="a name")):
        _succeeds(tracker.run("checked", PARAMS, context), name)
    for error in (ValueError("it failed"), KeyboardInterrupt()):
        _fails(tracker.run("checked", PARAMS, RunContext()), error, name)
    _succeeds(tracker.run("checked", PARAMS, RunContext()), f"{name}, after a failed run,")
    if isinstance(tracker, SweepTracker):
        for _ in range(2):  # started, and continued
            context = RunContext(sweep="20240501-093000", name="sweep of seed")
            _succeeds(tracker.sweep("checked", PARAMS, context), f"{name}.sweep")


def _succeeds(started: AbstractContextManager[Run], name: str) -> None:
    with TemporaryDirectory() as folder, started as run:
        known = run.address is None or isinstance(run.address, str)
        expect(known, f"{name}: the address of a run must be text or None")
        for method in METHODS:
            expect(callable(getattr(run, method, None)), f"{name}: a run needs the method {method}")
        run.log_metrics({"end_to_end/ndcg_at_5": 0.25, "time/total": 1.5, "ranking/auc": float("nan")})
        run.log_metrics({})
        run.log_curves({"training/loss": [3.0, 2.0, 1.0]})
        run.log_table("results", {"user": ["u1", "u2"], "score": [0.5, 1.0]})
        run.log_tags({"recx.reason": "two\nlines"})
        run.log_dataset("log.csv", "0123456789abcdef", "/data/log.csv")
        run.describe("**item_knn** on `log.csv`")
        (Path(folder) / "metrics.json").write_text("{}", encoding="utf-8")
        run.log_files(Path(folder))
        run.log_files(Path(folder), inner=False)
        if isinstance(run, ModelRun):
            (Path(folder) / MODEL).mkdir()
            (Path(folder) / MODEL / "model.json").write_text("{}", encoding="utf-8")
            run.log_model(KeptModel(Path(folder) / MODEL, 2, False, FORM, _Alone()))


def _fails(started: AbstractContextManager[Run], error: BaseException, name: str) -> None:
    try:
        with started:
            raise error
    except type(error) as raised:
        expect(raised is error, f"{name} must pass on the error that ends a run as it is")
    else:
        expect(False, f"{name} must not swallow the error that ends a run")

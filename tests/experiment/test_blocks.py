"""Runs whose requests are served in several blocks end as those in one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx import results
from recx.core.errors import RecxError
from recx.experiment import blocks
from recx.experiment.experiment import Result

TINY = {
    "news": ["+experiment=news", "dataset.readers=120", "dataset.articles=80"],
    "tools": ["+experiment=tools", "dataset.tasks=90"],
    "agents": ["+experiment=agents", "dataset.traces=30", "n_candidates=5"],
    "rerank": ["+experiment=rerank", "dataset=synthetic_judged", "dataset.queries=60"],
}
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run an experiment with a number of requests in a block, in a folder of that name."""
    monkeypatch.chdir(tmp_path)

    def ran(name: str, requests: int, *overrides: str) -> Result:
        monkeypatch.setattr(blocks, "REQUESTS", requests)
        words = [*TINY[name], "tracker=console", f"hydra.run.dir={requests}", *overrides]
        return recx.run(words)

    return ran


def figures(result: Result) -> dict[str, float]:
    return {name: value for name, value in result.metrics.items() if not name.startswith(("time/", "data/cache"))}


@pytest.mark.parametrize(
    "name", ["news", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tools", "agents", "rerank"))]
)
def test_the_files_of_a_run_are_those_of_a_run_in_one_block(run: Run, name: str) -> None:
    whole, parts = run(name, 10_000, "cache=off"), run(name, 23, "cache=off")
    assert figures(parts) == pytest.approx(figures(whole), abs=1e-5, nan_ok=True)
    one, other = results.load("10000"), results.load("23")
    pd.testing.assert_frame_equal(one.recommendations, other.recommendations, atol=1e-5)
    pd.testing.assert_frame_equal(one.candidates, other.candidates, atol=1e-5)
    pd.testing.assert_frame_equal(one.per_user, other.per_user, atol=1e-5)
    assert Path("23/report.html").exists()


@pytest.mark.slow
def test_each_block_is_kept_by_the_stage_cache_so_that_a_run_goes_on_where_it_ended(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recx.parts.ranker.fitted_linear import FittedLinear

    rank, served = FittedLinear.rank, []

    def stops(self: FittedLinear, candidates: object, history: object, requests: object) -> object:
        if len(served) == 3:
            raise RecxError("the machine went away")
        served.append(requests)
        return rank(self, candidates, history, requests)  # type: ignore[arg-type]

    monkeypatch.setattr(FittedLinear, "rank", stops)
    with pytest.raises(RecxError, match="went away"):
        run("news", 23)
    monkeypatch.setattr(FittedLinear, "rank", rank)
    again = run("news", 23)
    assert again.hits is not None
    assert again.hits["rank"] == 3
    assert again.passes["rank"] == -(-len(again.split.fold.requests) // 23)
    last = run("news", 23)
    assert last.hits is not None
    assert (last.hits["rank"], last.hits["evaluate"]) == (last.passes["rank"], 1)
    assert figures(last) == pytest.approx(figures(again), nan_ok=True)


def test_a_disk_that_is_too_small_is_said_after_the_first_block(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(blocks.shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000))
    run("news", 23, "cache=off")
    said = " ".join(capsys.readouterr().out.split())
    assert "the lists need about" in said
    assert "are free: lower n_candidates, set split.max_users, or run on another disk" in said


def test_a_full_disk_ends_the_run_in_one_sentence_and_leaves_no_finished_run(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recx.core import mapped

    def full(self: object, values: object, offset: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mapped._File, "write", full)
    with pytest.raises(OSError, match="No space left"):
        run("news", 23, "cache=off")
    assert not Path("23/metrics.json").exists()
    assert not Path("23").exists()


@pytest.mark.slow
def test_on_a_full_disk_the_stage_cache_makes_room_and_no_row_is_written_twice(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recx.core import mapped

    write, failed = mapped._File.write, []

    def full_once(self: mapped._File, values: np.ndarray[Any, Any], offset: int) -> None:
        if offset and not failed:
            write(self, values[: len(values) // 2], offset)
            failed.append(offset)
            raise OSError(28, "No space left on device")
        write(self, values, offset)

    whole = run("news", 10_000)
    monkeypatch.setattr(mapped._File, "write", full_once)
    parts = run("news", 23)
    assert failed
    assert figures(parts) == pytest.approx(figures(whole), abs=1e-5, nan_ok=True)


def test_no_requests_are_one_block(run: Run) -> None:
    result = run("news", 23, "cache=off", "fold=predict")
    some = result.split.fold.requests[:0]
    serving = blocks.Serving(result.retriever, result.ranker, result.split.fold.history, 10)  # type: ignore[arg-type]
    candidates, recommendations = blocks.serve(result.experiment.engine, serving, some, blocks.Stages())
    assert (candidates.n_lists, len(recommendations)) == (0, 0)
    assert np.array_equal(recommendations.indptr, [0])

"""A run from Python is the run of the command line: threads, folder, files, figures."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import recx
from recx.core.errors import InputError
from recx.experiment.experiment import Result
from recx.jobs.launch import objective
from recx.report.terminal.console import console_of_stdout

TINY = ["+experiment=news", "tracker=console", "dataset.readers=200", "dataset.articles=100"]


def with_metrics(**metrics: float) -> Result:
    return cast(Result, SimpleNamespace(metrics=metrics))


def test_run_from_python_writes_what_the_command_line_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = recx.run([*TINY, "name=mine"])
    [folder] = (tmp_path / "outputs").glob("*/*_mine")
    written = json.loads((folder / "metrics.json").read_text())
    assert written["end_to_end/ndcg_at_5"] == pytest.approx(result.metrics["end_to_end/ndcg_at_5"])


def test_a_mistake_from_python_is_an_input_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="did you mean 'n_candidates'"):
        recx.run(["n_candidats=3"])
    with pytest.raises(InputError, match="logloss needs probabilities"):
        recx.run(["tracker=console", "evaluator.end_to_end=[logloss]", "dataset.path=nowhere"])
    with pytest.raises(InputError, match="n_candidates=0"):
        recx.run(["tracker=console", "n_candidates=0"])
    assert not list(tmp_path.iterdir())


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        recx.runn  # noqa: B018


def test_a_reader_that_exits_during_a_run_is_reported_to_the_tracker() -> None:
    with pytest.raises(BrokenPipeError, match="the reader of the output has closed it"):
        console_of_stdout().on_broken_pipe()


def test_the_objective_is_a_finite_number() -> None:
    assert objective(with_metrics(a=0.5), "a") == 0.5
    for value in ("nan", "inf"):
        with pytest.raises(InputError, match=f"objective=a: it is {value} in this run"):
            objective(with_metrics(a=float(value)), "a")
    with pytest.raises(InputError, match="objective=ndgc: the run has no such metric: did you mean 'ndcg'"):
        objective(with_metrics(ndcg=1.0), "ndgc")


def test_what_a_run_keeps_of_its_lists_changes_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs, files, figures = {}, {}, {}
    for lists in ("all", "top:2", "off"):
        folder = Path(f"outputs/of/{lists}")
        result = recx.run([*TINY, f"lists={lists}", f"hydra.run.dir={folder}"])
        assert bool(sum((result.hits or {}).values())) == (lists != "all")  # the three share what the cache keeps
        runs[lists], files[lists] = recx.results.load(folder), {path.name for path in folder.iterdir()}
        untimed = (name for name in result.metrics if not name.startswith("time/") and name != "data/cache_hits")
        figures[lists] = {name: result.metrics[name] for name in untimed}
    for lists in ("top:2", "off"):
        assert figures[lists] == pytest.approx(figures["all"], nan_ok=True)
        assert runs[lists].protocol == runs["all"].protocol
    assert runs["top:2"].recommendations["rank"].max() == 2
    assert files["all"] == files["top:2"] == files["off"] | {"recommendations.parquet"}

"""``best:EXPERIMENT``: chosen by figures of ``fold=valid`` alone, among runs whose figures compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.core.run_context import RunContext
from recx.tracking.best_runs import best_run, experiments_near
from recx.tracking.mlflow import MLflow

SAME = {"recx.data": "d", "recx.protocol": "p", "recx.objective": "end_to_end/mrr"}


def logged(uri: str, name: str, figures: dict[str, float], tags: dict[str, str], role: str = "best") -> str:
    """Log a run of the experiment ``news``; return its id."""
    context = RunContext(parent="f" * 32 if role else "", role=role)
    with MLflow(uri=uri, run_name=name).run("news", {}, context) as run:
        run.log_metrics(figures)
        run.log_tags(tags)
    return run.run_id


def both(valid: float, test: float) -> dict[str, float]:
    return {"valid/end_to_end/mrr": valid, "end_to_end/mrr": test}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    """Return a store, and the ids of its runs by what they are."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('store')}/runs.db"
    ids = {
        "better on valid": logged(uri, "a", both(0.4, 0.1), SAME),
        "better on test": logged(uri, "b", both(0.3, 0.9), SAME),
        "without figures of valid": logged(uri, "c", {"end_to_end/mrr": 0.95}, {}, role=""),
        "of valid only": logged(uri, "d", {"valid/end_to_end/mrr": 0.99}, {}, role=""),
        "a trial": logged(uri, "e", {"valid/end_to_end/mrr": 0.98}, {"recx.objective": "end_to_end/mrr"}, role="x"),
        "not a number": logged(uri, "f", both(float("nan"), 0.8), SAME),
    }
    return uri, ids


def test_the_best_on_valid_is_chosen_and_the_others_are_counted(store: tuple[str, dict[str, str]]) -> None:
    uri, ids = store
    found = best_run(uri, "news")
    assert found is not None
    run, said = found
    assert run.id == ids["better on valid"]
    assert said == (
        f"best:news: run {run.id[:8]}, valid/end_to_end/mrr = 0.4000, the best of 2; 3 without figures of fold=valid "
        "beside those of test left out"
    )


def test_a_store_without_the_experiment_has_no_best_run(store: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    assert best_run(store[0], "nwes") is None
    assert best_run(f"sqlite:///{tmp_path}/none.db", "news") is None
    assert "did you mean 'news'" in experiments_near(store[0], "nwes")


def test_runs_whose_figures_do_not_compare_are_refused(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/runs.db"
    first = logged(uri, "a", both(0.3, 0.1), SAME)
    for valid, tag in ((0.4, "recx.data"), (0.5, "recx.protocol")):
        other = logged(uri, "b", both(valid, 0.1), {**SAME, tag: "other"})
        shown = rf"name one run, {other[:8]} \(valid/end_to_end/mrr = {valid}000\), .*{first[:8]} \(.* = 0.3000\)"
        with pytest.raises(InputError, match=rf"of [23] different data sets, rules or objectives, .*{shown}"):
            best_run(uri, "news")


def test_an_experiment_without_such_figures_says_the_way_out(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/runs.db"
    logged(uri, "a", {"end_to_end/mrr": 0.5}, {}, role="")
    with pytest.raises(InputError, match=r"none of its 1 runs has figures of fold=valid .* \(-m fold=valid\)"):
        best_run(uri, "news")

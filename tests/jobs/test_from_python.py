"""``recx.run`` and ``recx.sweep`` called from a program: in threads, inside Hydra, with one text."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import recx
from recx.core.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
TINY = ["+experiment=news", "dataset.readers=150", "dataset.articles=80", "ranker=identity"]
QUIET = [*TINY, "tracker=console", "cache=off"]


@pytest.mark.slow
def test_runs_in_several_threads_are_those_of_one(here: Path) -> None:
    def mrr(seed: int) -> float:
        return recx.run([*TINY, f"dataset.seed={seed}"]).metrics["end_to_end/mrr"]

    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(mrr, [0, 1, 2]))
    assert together == [mrr(seed) for seed in (0, 1, 2)]
    assert len(set(together)) == 3
    assert len(list(here.glob("outputs/*/*/metrics.json"))) == 6


def test_one_text_is_the_same_as_a_list(here: Path) -> None:
    figures = [recx.run(words).metrics["end_to_end/mrr"] for words in (QUIET, " ".join(QUIET))]
    assert figures[0] == figures[1]
    with pytest.raises(InputError, match="did you mean 'n_candidates'"):
        recx.run("n_candidats=3")


@pytest.mark.parametrize("word", ["+sweep=seeds", "sweep_id=mine", "resume=last", "hydra.mode=MULTIRUN"])
def test_what_is_for_a_sweep_is_not_passed_over_by_a_run(here: Path, word: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"{word}: this is for a sweep")):
        recx.run([*QUIET, word])


@pytest.mark.parametrize("function", [recx.run, recx.sweep])
def test_a_flag_is_refused_with_the_argument_to_write(function: Callable[[str], object]) -> None:
    with pytest.raises(InputError, match="--config-dir: it is a flag of the command line: write config_dir="):
        function("--config-dir conf +experiment=news")


PROGRAM = """
import hydra, recx
from hydra.core.hydra_config import HydraConfig

@hydra.main(version_base=None, config_path="theirs", config_name="config")
def main(config):
    assert config.mine == 1
    first = recx.run({words!r})
    trials = recx.sweep([*{words!r}, "seed=0,1"])
    columns = ["trial", "objective", "seed", "seconds", "cached", "reason"]
    columns += ["difference", "low", "high", "p", "p_holm", "p_best", "folder"]
    assert list(trials.columns) == columns
    assert sorted(trials["trial"]) == [0, 1]
    assert abs(trials.set_index("seed")["objective"]["0"] - first.metrics["end_to_end/ndcg_at_5"]) < 1e-12
    assert HydraConfig.get().job.name == "program"
    print("ours", HydraConfig.get().overrides.task)

main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["-m"]], ids=["run", "multirun"])
def test_a_program_that_uses_hydra_itself_can_run_recx(here: Path, flags: list[str]) -> None:
    (here / "theirs").mkdir()
    (here / "theirs" / "config.yaml").write_text("mine: 1\n")
    (here / "program.py").write_text(PROGRAM.format(words=QUIET))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HYDRA_FULL_ERROR": "1"}
    done = subprocess.run(
        [sys.executable, "program.py", *flags, "+theirs=2"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "ours ['+theirs=2']" in done.stdout


def test_a_sweep_from_python_is_a_frame_with_the_best_first(here: Path) -> None:
    arguments, variables = list(sys.argv), dict(os.environ)
    trials = recx.sweep([*QUIET, "fold=valid", "retriever=popularity,random"])
    assert list(trials["retriever"]) == ["popularity", "random"]
    assert np.all(np.diff(trials["objective"]) < 0)
    best = recx.results.load(trials["folder"][0])
    assert best.metrics["end_to_end/ndcg_at_5"] == trials["objective"][0]
    assert sys.argv == arguments
    assert variables.items() <= os.environ.items()
    of_libraries = ("KMP_", "MLFLOW_", "POLARS_")  # which some set when they are imported
    assert all(name.startswith(of_libraries) for name in os.environ.keys() - variables.keys())


def test_a_failed_trial_has_its_reason(here: Path) -> None:
    trials = recx.sweep([*QUIET, "n_candidates=10,0"])
    assert list(trials["n_candidates"]) == ["10", "0"]
    assert trials["objective"].isna().tolist() == [False, True]
    assert trials["reason"][1].startswith("n_candidates=0: it must be 1 or more")


def test_a_sweep_from_python_is_refused_as_on_the_command_line(here: Path) -> None:
    with pytest.raises(InputError, match="would tune on it"):
        recx.sweep([*QUIET, "+sweep=retriever", "fold=test"])
    assert not list(here.glob("outputs/*/*/metrics.json"))

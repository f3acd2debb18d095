"""What Optuna is let propose: log ranges, ranges that depend on a choice, odd texts; and a search taken up again."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hydra.core.plugins import Plugins
from omegaconf import DictConfig, OmegaConf

from recx.config.compose import compose
from recx.config.hydra_internals import is_swept, key_of, parse
from recx.config.sweepers.optuna import Search

pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the sweeper is not installed")

_spec = importlib.util.spec_from_file_location("sweeps", Path(__file__).parents[2] / "jobs" / "sweep" / "test_run.py")
assert _spec is not None
assert _spec.loader is not None
sweeps = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sweeps)

SMALL = [*(word for word in sweeps.SMALL if not word.startswith("retriever=")), "fold=valid"]
Settings = Mapping[str, str]


def best_in_the_middle(settings: Settings) -> float:
    return -abs(math.log10(float(settings.get("ranker.l2", 1))) + 3)


@pytest.fixture
def proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Settings]]:
    """Return a function that gives the settings of each trial of a search, none of which is really run."""
    config = compose(["+experiment=news", "hydra/sweeper=optuna", f"hydra.sweep.dir={tmp_path}"])

    class Launcher:
        def __init__(self) -> None:
            self.seen: list[Settings] = []

        def launch(self, overrides: Sequence[Sequence[str]], initial_job_idx: int) -> list[Any]:
            new = []
            for words in overrides:
                parsed = parse(words)
                assert not any(is_swept(override) for override in parsed)
                new.append({key_of(override): _text(override.value()) for override in parsed})
            self.seen.extend(new)
            return [SimpleNamespace(return_value=best_in_the_middle(settings)) for settings in new]

    def run(*words: str, when: Mapping[str, Mapping[str, str]] | None = None, trials: int = 40) -> list[Settings]:
        settings = OmegaConf.to_container(config.hydra.sweeper, resolve=True)
        assert isinstance(settings, dict)
        given = {**settings, "n_trials": trials, "storage": None, "when": OmegaConf.create(dict(when or {}))}
        del given["_target_"]
        launcher = Launcher()
        monkeypatch.setattr(Plugins.instance(), "instantiate_launcher", lambda **_: launcher)
        search = Search(**{str(name): value for name, value in given.items()})
        search.setup(hydra_context=SimpleNamespace(), task_function=None, config=config)  # type: ignore[arg-type]
        search.sweep(list(words))
        return launcher.seen

    return run


def _text(value: Any) -> str:
    return str(getattr(value, "text", value))


def test_a_log_range_is_searched_by_powers_of_ten(proposed: Callable[..., list[Settings]]) -> None:
    logs = [math.log10(float(one["ranker.l2"])) for one in proposed("ranker.l2=tag(log,interval(1e-5,1))", trials=10)]
    assert all(-5 <= log <= 0 for log in logs)
    assert 2 <= sum(log < -2.5 for log in logs) <= 8  # of ten at random
    plain = [float(one["ranker.l2"]) for one in proposed("ranker.l2=interval(1e-5,1)", trials=10)]
    assert sum(value < 10**-2.5 for value in plain) == 0


def test_what_was_learnt_is_used(proposed: Callable[..., list[Settings]]) -> None:
    settings = proposed("ranker.l2=tag(log,interval(1e-5,1))")
    off = [abs(math.log10(float(one["ranker.l2"])) + 3) for one in settings]
    assert sum(off[-20:]) / 20 < 0.7 * sum(off[:10]) / 10  # the first ten are at random


def test_a_log_range_of_whole_numbers_gives_whole_numbers(proposed: Callable[..., list[Settings]]) -> None:
    settings = proposed("retriever.last=tag(log,int(interval(1,1000)))", trials=10)
    numbers = [int(one["retriever.last"]) for one in settings]
    assert all(1 <= number <= 1000 for number in numbers)
    assert 2 <= sum(number < 32 for number in numbers) <= 8


WHEN = {
    "retriever=item_knn": {"retriever.last": "range(1,31)", "retriever.normalise": "cosine,lift"},
    "retriever.normalise=lift": {"retriever.shrink": "interval(0,10)"},
    "retriever=popularity,random": {"n_candidates": "50"},
    "ranker=linear": {"ranker.l2": "tag(log,interval(1e-5,1))"},
    "ranker=identity": {"refit": "true,false"},
}


def test_ranges_hold_only_where_they_should(proposed: Callable[..., list[Settings]]) -> None:
    settings = proposed("retriever=item_knn,popularity,ease", "+experiment=news", when=WHEN)
    assert {one["retriever"] for one in settings} == {"item_knn", "popularity", "ease"}
    for one in settings:
        item_knn = one["retriever"] == "item_knn"
        assert ("retriever.last" in one) == ("retriever.normalise" in one) == item_knn
        assert ("retriever.shrink" in one) == (one.get("retriever.normalise") == "lift")
        assert one.get("n_candidates") == ("50" if one["retriever"] == "popularity" else None)
        assert "ranker.l2" in one  # the experiment's ranker is the linear one
        assert "refit" not in one
    assert any("retriever.shrink" in one for one in settings)


def test_the_command_line_goes_before(proposed: Callable[..., list[Settings]]) -> None:
    words = ["retriever=item_knn", "ranker=identity,linear", "retriever.last=3", "retriever.normalise=cosine,none"]
    settings = proposed(*words, when=WHEN)
    assert {one["retriever.last"] for one in settings} == {"3"}
    assert {one["retriever.normalise"] for one in settings} == {"cosine", "none"}
    for one in settings:
        assert ("ranker.l2" in one) == (one["ranker"] == "linear")
        assert ("refit" in one) == (one["ranker"] == "identity")


@pytest.mark.parametrize("where", ["typed", "when"])
def test_texts_with_odd_characters_survive(proposed: Callable[..., list[Settings]], where: str) -> None:
    texts = ["a,b", "c d", "it's", "x=y", "{z}", "[1]", "ü", "", "a\\b", "$p", "(q)", "100"]
    quoted = ",".join('"' + text.replace("\\", "\\\\") + '"' if text.endswith("\\") else f'"{text}"' for text in texts)
    if where == "typed":
        settings = proposed(f"+note={quoted}", trials=80)
    else:
        settings = proposed("seed=1,2", when={"seed=1,2": {"+note": quoted}}, trials=80)
    assert {one["note"] for one in settings} == set(texts)


def install(site: Path, package: str, code: str) -> None:
    """Lay out a plugin as pip would."""
    (site / package / "conf" / "retriever").mkdir(parents=True)
    (site / package / "__init__.py").write_text(code)
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[recx.plugins]\n{package} = {package}\n")


def swept(folder: Path, *words: str) -> str:
    """Run a sweep in a folder, with the plugins laid out there, and return what is printed."""
    done = sweeps.recx(folder, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return str(done.stdout)


@pytest.mark.slow
def test_a_plugins_own_function_proposes_in_a_preset_of_ones_own(tmp_path: Path) -> None:
    code = "def propose(config, trial):\n    trial.suggest_float('ranker.l2', 1e-5, 1.0, log=True)\n"
    install(tmp_path, "recx_own", code)
    (tmp_path / "mine" / "sweep").mkdir(parents=True)
    (tmp_path / "mine" / "sweep" / "own.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /hydra/sweeper: optuna\nfold: valid\n"
        "hydra:\n  sweeper:\n    n_trials: 2\n    custom_search_space: recx_own.propose\n"
    )
    out = swept(tmp_path, *SMALL, "retriever=popularity", "--config-dir", "mine", "+sweep=own")
    assert sweeps.figures(tmp_path)["ranker.l2"].between(1e-5, 1).all()
    assert "once on test: end_to_end/ndcg_at_5 = " in out


EPOCHS = """
import time
from dataclasses import dataclass

from recx.core.pruning import reached
from recx.parts.retriever.popularity import Popularity

@dataclass(frozen=True)
class Epochs:
    quality: float = 1.0

    def fit(self, history):
        for epoch in range(1, 5):
            time.sleep(0.1)
            reached(epoch, self.quality * epoch)
        return Popularity(half_life=f"{1 + self.quality}h").fit(history)
"""


def epochs(folder: Path) -> list[str]:
    """Lay out a plugin whose retriever tells of four epochs; return the words of a sweep over how good they are."""
    folder.mkdir(exist_ok=True)
    install(folder, "recx_epochs", EPOCHS)
    option = folder / "recx_epochs" / "conf" / "retriever" / "epochs.yaml"
    option.write_text("# four epochs\n_target_: recx_epochs.Epochs\nquality: 1.0\n")
    words = [word for word in SMALL if not word.startswith("ranker.")]
    return [*words, "retriever=epochs", "ranker=identity", "pruner=median", "pruner.startup_trials=2"]


@pytest.mark.slow
def test_trials_behind_the_others_end_early(tmp_path: Path) -> None:
    words = [*epochs(tmp_path / "grid"), "retriever.quality=5,4,3,6,0", "sweep_id=mine"]
    assert swept(tmp_path / "grid", *words).count(": pruned at epoch 2 in ") == 2
    table = sweeps.figures(tmp_path / "grid")
    assert list(table["retriever.quality"][3:]) == [3, 0]
    assert list(table["reason"][3:]) == ["pruned at epoch 2"] * 2
    assert table["objective"].isna().tolist() == [False] * 3 + [True] * 2
    assert not (tmp_path / "grid" / "outputs" / "sweeps" / "mine" / "2").exists()
    assert swept(tmp_path / "grid", *words).count("(done before)") == 5
    pd.testing.assert_frame_equal(sweeps.figures(tmp_path / "grid"), table)


@pytest.mark.slow
def test_a_sweep_with_pruning_that_is_killed_and_taken_up_again_ends_the_same(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    of_optuna = ["hydra/sweeper=optuna", "hydra.sweeper.n_trials=6", "hydra.sweeper.sampler.n_startup_trials=2"]
    words = [*of_optuna, "retriever.quality=interval(0,10)", "sweep_id=mine"]
    assert "pruned at epoch" in swept(whole, *epochs(whole), *words)
    sweeps.kill_and_resume(killed, [(3, 0.3)], *epochs(killed), *words)
    pd.testing.assert_frame_equal(sweeps.figures(killed), sweeps.figures(whole))


@pytest.mark.slow
def test_a_search_of_parts_and_their_settings_that_is_taken_up_again_proposes_the_same(tmp_path: Path) -> None:
    words = [*SMALL, "+sweep=search", "hydra.sweeper.sampler.n_startup_trials=2", "sweep_id=mine"]
    out = swept(tmp_path / "whole", *words, "hydra.sweeper.n_trials=6")
    assert "once on test: end_to_end/ndcg_at_5 = " in out
    table = sweeps.figures(tmp_path / "whole")
    assert len(table) == 6
    assert table["ranker.l2"].between(1e-5, 1).all()
    item_knn = table["retriever"] == "item_knn"
    assert item_knn.any()
    assert (table["retriever.last"].notna() == item_knn).all()
    for trials in (3, 6):
        out = swept(tmp_path / "halves", *words, f"hydra.sweeper.n_trials={trials}")
    assert out.count("(done before)") == 3
    pd.testing.assert_frame_equal(sweeps.figures(tmp_path / "halves"), table)


def test_hydras_sweeper_takes_all_that_our_option_says() -> None:
    config: DictConfig = compose(["hydra/sweeper=optuna"])
    from hydra_plugins.hydra_optuna_sweeper.config import OptunaSweeperConf

    theirs = {name for name in OptunaSweeperConf.__dataclass_fields__ if name not in ("_target_", "defaults")}
    assert set(config.hydra.sweeper) == {*theirs, "_target_", "when"}

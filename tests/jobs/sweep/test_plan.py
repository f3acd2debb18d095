"""What a sweep's words mean, before anything runs: its trials, its name, and that nobody tunes on test by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from recx.config import option_sources
from recx.config.overrides import readable
from recx.core.errors import InputError
from recx.jobs.sweep.plan import read

PRESETS = [name.removeprefix("sweep/") for name in option_sources.options() if name.startswith("sweep/")]
FOLDS = {"folds": 5, "windows": 5, "positions": 10}
"""Presets that have nothing to choose -> how many runs of one chain."""
OPTUNA = "hydra/sweeper=optuna"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def trials(*words: str) -> list[str]:
    grid = read(["+experiment=news", *words]).grid
    assert grid is not None
    return [" ".join(trial).replace("+experiment=news ", "") for trial in grid.trials]


@pytest.mark.parametrize("preset", FOLDS)
def test_a_preset_of_folds_asks_everybody_on_test_and_chooses_nothing(preset: str) -> None:
    sweep = read(["+experiment=news", f"+sweep={preset}", "retriever=popularity,random", "ranker=identity"])
    assert not sweep.chooses
    assert sweep.config["fold"] == "test"
    assert sweep.grid is not None
    assert len(sweep.grid.trials) == 2 * FOLDS[preset]
    with pytest.raises(InputError, match=r"fold=valid with several values of split\.part"):
        read(["+experiment=news", "+sweep=folds", "fold=valid"])


@pytest.mark.parametrize("preset", [preset for preset in PRESETS if preset not in FOLDS])
def test_a_preset_chooses_on_valid(preset: str) -> None:
    if preset == "search":
        pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the sweeper is not installed")
    sweep = read(["+experiment=news", f"+sweep={preset}"])
    assert sweep.chooses
    assert sweep.optimises is (preset == "search")
    assert sweep.config["fold"] == "valid"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["+sweep=ranker", "fold=test"], "fold=test: a sweep that chooses the best by this fold would tune on it"),
        (["+sweep=ranker", "fold=valid,test"], "fold: the trials of a sweep are compared by it"),
        (["objective=a,b"], "objective: the trials of a sweep are compared by it"),
        (["fold=valid,test"], "fold: the trials of a sweep are compared by it"),
        (["objective=ranking/logloss"], "objective=ranking/logloss: lower values are better"),
        (["objective=funnel/lost_in_retrieval"], "objective=funnel/lost_in_retrieval: lower values are better"),
        (["objective=time/total"], "objective=time/total: lower values are better"),
        (
            ["hydra/sweeper=optuna", "fold=valid", "hydra.sweeper.direction=minimize"],
            "hydra.sweeper.direction=minimize: recx's objectives are maximized",
        ),
        (
            ["hydra/launcher=joblib", "hydra.launcher.n_jobs=64", "runtime.threads=64"],
            "runtime.threads=64 in 64 parallel trials is more than the",
        ),
        (["allow_tuning_on_test=1"], "allow_tuning_on_test=1: it must be true or false"),
        (["ranker=lineer,identity"], "did you mean 'linear'"),
        (["sweep_id=a/b"], "sweep_id=a/b: it names a folder"),
        (["sweep_id=a", "resume=last"], "give one of them"),
        (["resume=last"], "no sweep was started under"),
        (["resume=mine"], "resume=mine: there is no such sweep"),
        (["hydra.sweep.dir=x"], "name it with sweep_id=ID"),
        (["hydra/launcher=nowhere"], "nowhere"),
        (["hydra.sweeper._target_=hydra_plugins.nowhere.X"], r"hydra_plugins.nowhere is not installed"),
    ],
)
def test_a_wrong_override_is_one_sentence(words: list[str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read(["+experiment=news", *words])


RANKING = "objective=ranking/mrr"


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["retriever=item_knn", "retriever.last=5,10", "ranker.l2=1,2"], "retriever.last"),
        (["n_candidates=10,20"], "n_candidates"),
        (["seen=drop,keep"], "seen"),
        (["refit=true,false"], "refit"),
        (["encoder=tfidf,lsa"], "encoder"),
        (["split=leave_last,by_time"], "split"),
        (["+sweep=retriever"], "retriever"),
        (["hydra.sweeper.leave_out=encoder"], "encoder"),
    ],
)
def test_a_mean_over_users_with_a_retrieved_target_is_no_objective_where_these_may_differ(
    words: list[str], key: str
) -> None:
    expected = f"objective=ranking/mrr: it is a mean over .* with {key} these may differ .* objective=end_to_end/mrr"
    with pytest.raises(InputError, match=expected):
        read(["+experiment=news", RANKING, *words])


def test_a_mean_over_all_users_is_an_objective_whatever_differs() -> None:
    assert read(["+experiment=news", "objective=end_to_end/mrr", "retriever=random,item_knn", "seed=1,2"]).varied


@pytest.mark.parametrize(
    "words",
    [
        ["ranker=identity,linear"],
        ["ranker.l2=1,2"],
        ["feature=news,basic"],
        ["+sweep=features"],
        ["runtime.threads=1,2"],
    ],
)
def test_rankers_and_features_are_compared_on_the_same_users(words: list[str]) -> None:
    assert read(["+experiment=news", RANKING, *words]).config["objective"] == "ranking/mrr"


def test_ranges_that_depend_on_a_choice_may_change_the_users_too(tmp_path: Path) -> None:
    words = [RANKING, "ranker=identity,linear"]
    assert read([*_searching(tmp_path, "when: {ranker=linear: {ranker.l2: '1,2'}}", "grid"), *words]).varied
    with pytest.raises(InputError, match="with n_candidates these may differ"):
        read([*_searching(tmp_path, "when: {ranker=linear: {n_candidates: '50'}}", "grid"), *words])


def test_what_optuna_proposes_may_change_the_users_too(tmp_path: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the sweeper is not installed")
    with pytest.raises(InputError, match="with retriever these may differ"):
        read([*_searching(tmp_path, "params: {retriever: 'random,item_knn'}"), RANKING])
    assert read([*_searching(tmp_path, "params: {ranker.l2: 'interval(0.1,1)'}"), RANKING]).optimises


def test_optuna_may_not_choose_on_test() -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the sweeper is not installed")
    swept = [OPTUNA, "ranker.l2=tag(log,interval(1e-5,1))"]
    with pytest.raises(InputError, match="would tune on it"):
        read(swept)
    assert read([*swept, "fold=valid"]).optimises
    assert read([*swept, "allow_tuning_on_test=true"]).chooses


def test_settings_go_with_the_options_of_a_preset() -> None:
    assert trials("+sweep=baselines", "retriever=random,item_knn", "retriever.last=5,10") == [
        "ranker=identity +sweep=baselines retriever=random",
        "ranker=identity +sweep=baselines retriever=item_knn retriever.last=5",
        "ranker=identity +sweep=baselines retriever=item_knn retriever.last=10",
    ]
    assert trials("+sweep=retriever", "retriever.last=5")[1:] == [
        "retriever=random +sweep=retriever",
        "retriever=popularity +sweep=retriever",
        "retriever=item_knn +sweep=retriever retriever.last=5",
    ]


def test_a_grid_may_say_when_a_setting_applies(tmp_path: Path) -> None:
    when = "when: {ranker=linear: {ranker.l2: '1,2', n_candidates: '50'}, 'ranker.l2=2': {seed: '7,8'}}"
    words = _searching(tmp_path, when, "grid")
    assert trials(*words[1:], "ranker=identity,linear", "n_candidates=9") == [
        "+sweep=own ranker=identity n_candidates=9",
        "+sweep=own ranker=linear n_candidates=9 ranker.l2=1",
        "+sweep=own ranker=linear n_candidates=9 ranker.l2=2 seed=7",
        "+sweep=own ranker=linear n_candidates=9 ranker.l2=2 seed=8",
    ]
    with pytest.raises(InputError, match="ranker has no setting 'l3'"):
        read(_searching(tmp_path, "when: {ranker=linear: {ranker.l3: '1,2'}}", "grid"))


def test_what_applies_with_some_options_only_stays_away_from_hydra() -> None:
    words = ["+experiment=news", "retriever=item_knn,faiss", "retriever.nprobe=8", "seed=1"]
    sweep = read(words)
    assert sweep.of_hydra == ["+experiment=news", "retriever=item_knn,faiss", "seed=1"]
    assert sweep.config["retriever"]["_target_"].endswith("ItemKNN")
    assert "nprobe" not in sweep.config["retriever"]


@pytest.mark.parametrize(
    ("when", "sentence"),
    [
        ("{retriever: {ranker.l2: 1}}", "hydra.sweeper.when: 'retriever' is not a condition with ranges"),
        ("{retriever=item_knn: 3}", "hydra.sweeper.when: 'retriever=item_knn' is not a condition with ranges"),
        ("{'seed=interval(0,1)': {ranker.l2: 1}}", "'seed=interval\\(0,1\\)' is not a condition: name one value"),
        ("{retriever=item_knn: {retriever.last: 'range(1,'}}", r"'retriever.last=range\(1,' cannot be read"),
        ("{retriever=item_knm: {retriever.last: 'range(1,9)'}}", "retriever=item_knm: .*did you mean 'item_knn'"),
        ("{retriever=item_knn: {retriever.lst: 'range(1,9)'}}", "'lst': did you mean 'last'"),
        ("{retriever=popularity: {retriever.last: 'range(1,9)'}}", "retriever has no setting 'last'"),
        ("{retriever=item_knn: {retriever.last: 1}, retriever.last=1: {ranker.l3: 1}}", "ranker has no setting 'l3'"),
    ],
)
def test_wrong_ranges_are_reported_before_anything_runs(when: str, sentence: str, tmp_path: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the sweeper is not installed")
    with pytest.raises(InputError, match=sentence):
        read(_searching(tmp_path, f"when: {when}"))


def test_ranges_may_depend_on_what_others_choose(tmp_path: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the sweeper is not installed")
    when = """{retriever=item_knn: {retriever.last: 'range(1,9)'}, 'retriever.last=1,2': {retriever.distance: '1,2'},
               'n_candidates=100': {ranker.l2: 'tag(log,interval(1e-5,1))'}}"""
    assert read(_searching(tmp_path, f"when: {when}")).optimises


def test_what_a_preset_says_is_part_of_the_first_trial(tmp_path: Path) -> None:
    words = _searching(tmp_path, "params: {retriever: item_knn, retriever.last: '7,8', seed: '3,4'}")
    sweep = read([*words, "seed=5"])
    assert sweep.config["retriever"]["last"] == 7
    assert sweep.config["seed"] == 5  # the command line goes before
    with pytest.raises(InputError, match="retriever has no setting 'lst'"):
        read([*_searching(tmp_path, "params: {retriever: item_knn, retriever.lst: 'range(1,9)'}")])
    with pytest.raises(InputError, match="fold: the trials of a sweep are compared by it"):
        read([*_searching(tmp_path, "params: {fold: 'valid,test'}")])


def test_only_plugins_may_bring_a_function_that_proposes(tmp_path: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the sweeper is not installed")
    with pytest.raises(InputError, match=r"custom_search_space=mine\.propose: it must be a function of recx or of an"):
        read(_searching(tmp_path, "custom_search_space: mine.propose"))


def _searching(folder: Path, line: str, sweeper: str = "optuna") -> list[str]:
    """Return the words of a sweep with a preset of one's own, which says this of the sweeper."""
    (folder / "sweep").mkdir(exist_ok=True)
    preset = ["# @package _global_", "defaults:", f"  - override /hydra/sweeper: {sweeper}", "fold: valid"]
    text = "\n".join([*preset, "hydra:", "  sweeper:", f"    {line}"])
    (folder / "sweep" / "own.yaml").write_text(text + "\n")
    return ["+experiment=news", "+sweep=own", f"hydra.searchpath=['file://{folder}']"]


@pytest.mark.parametrize("words", ["baseline=ranker.l2=0.1", "baseline='ranker.l2=0.1'", 'baseline="ranker.l2=0.1"'])
def test_a_baseline_may_be_quoted(words: str) -> None:
    assert read(readable(["+experiment=news", "+sweep=ranker", words])).baseline == "ranker.l2=0.1"
    assert read(["+experiment=news", "+sweep=ranker", "baseline=3"]).baseline == "3"


def test_a_comparison_on_test_is_allowed() -> None:
    sweep = read(["+experiment=news", "ranker=identity,linear"])
    assert (sweep.chooses, sweep.config["fold"]) == (False, "test")
    assert sweep.config["ranker"]["_target_"].endswith("Identity")  # the first value of what is swept over


@pytest.mark.slow
def test_a_sweep_resumes_by_its_name_with_the_same_overrides_only() -> None:
    words = ["+experiment=news", "ranker=identity,linear"]
    begun = read([*words, "sweep_id=mine"])
    assert begun.begin()
    assert not begun.begin()
    assert not read([*words, "resume=last", "hydra.sweeper.max_batch_size=1"]).begin()
    for other in ([*words, "seed=3"], [*reversed(words)], [*words, "hydra.sweep.subdir=x"]):
        with pytest.raises(InputError, match=r"sweep_id=mine: this sweep was started with different overrides"):
            read([*other, "resume=mine"]).begin()

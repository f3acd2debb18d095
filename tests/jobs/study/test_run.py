"""Studies from the outside: failing, changed, resumed, run from their lock file."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import recx
from recx.core.errors import InputError
from recx.jobs.study.run import StudyResult

NEWS = ["+experiment=news", "dataset.readers=60", "dataset.articles=50", "feature=basic"]
QUIET = ["tracker=console", "runtime.threads=1"]
SPEC: dict[str, Any] = {
    "metrics": ["ndcg_at_10", "recall_at_20"],
    "baseline": "random",
    "seeds": [0, 1],
    "tuning": {"trials": 2},
    "chains": {
        "random": ["retriever=random", "ranker=identity"],
        "knn": {"overrides": ["retriever=item_knn", "ranker=identity"], "tune": ["retriever.neighbours=1,20"]},
        "broken": ["retriever=given", "ranker=identity"],
    },
    "worlds": {"small": NEWS, "other": [*NEWS, "dataset.seed=1"]},
}
METRICS = ("end_to_end/ndcg_at_10", "end_to_end/recall_at_20")


def changed(**of_chains: Any) -> dict[str, Any]:
    spec = deepcopy(SPEC)
    spec["chains"] |= of_chains
    return spec


def figures(result: StudyResult) -> Mapping[Any, Any]:
    """Return what a study says, without what a second time never is."""
    return {
        one.cell.key: one.reason or [one.evaluation.values[name].tolist() for name in METRICS]
        for one in result.outcomes
        if one.evaluation is not None or one.reason
    }


@dataclass(frozen=True)
class Done:
    """A study that was run once for all tests of this file, and its folder."""

    here: Path
    result: StudyResult

    def copied(self, to: Path) -> Path:
        shutil.copytree(self.here / "outputs", to / "outputs")
        return to / "outputs" / "studies" / "mine"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return Done(folder, recx.study(SPEC, QUIET, jobs=1, name="mine"))


def test_a_study_of_two_cells_is_run_resumed_and_run_again_from_its_lock_file(here: Path) -> None:
    spec = {**SPEC, "tuning": {}, "seeds": [3], "worlds": {"small": NEWS}}
    spec["chains"] = {name: SPEC["chains"][name] for name in ("random", "broken")}

    first = recx.study(spec, QUIET, jobs=1, name="mine")
    again = recx.study(spec, QUIET, jobs=1, name="mine", resume=True)
    same = recx.study(first.folder / "study.lock.yaml", QUIET, jobs=1, name="other")

    assert figures(first) == figures(again) == figures(same)
    random, broken = first.outcomes
    assert random.evaluation is not None
    assert "candidate lists" in broken.reason
    assert first.tables.pivot[METRICS[0]]["mean"].tolist()[0] == random.evaluation.means[METRICS[0]]
    assert (first.folder / "study.html").is_file()
    assert (first.folder / "summary" / "mine.tex").is_file()


@pytest.mark.slow
def test_each_cell_is_an_ordinary_run(done: Done, here: Path) -> None:
    keys = [one.cell.key for one in done.result.outcomes]
    assert keys == [(c, w, s) for c in SPEC["chains"] for w in SPEC["worlds"] for s in SPEC["seeds"]]
    words = [*SPEC["worlds"]["other"], *SPEC["chains"]["random"], "seed=1", *QUIET, "hydra.run.dir=alone"]
    metrics = "evaluator.end_to_end=[ndcg_at_10,recall_at_20]"

    alone = recx.run([*words, metrics])

    [cell] = [one for one in done.result.outcomes if one.cell.key == ("random", "other", 1)]
    assert cell.evaluation is not None
    assert cell.evaluation.means == {name: pytest.approx(alone.metrics[name], rel=1e-12) for name in METRICS}
    assert cell.seconds > 0
    assert cell.memory > 50 * 2**20, "NumPy alone takes more"
    assert cell.folder is not None
    assert recx.results.load(cell.folder).fold == "test"


@pytest.mark.slow
def test_seeds_and_worlds_differ_where_they_should(done: Done) -> None:
    values = figures(done.result)

    assert values["random", "small", 0] != values["random", "small", 1]
    assert values["knn", "small", 0] == values["knn", "small", 1]
    assert values["knn", "small", 0] != values["knn", "other", 0]


@pytest.mark.slow
def test_a_failed_cell_is_a_dash_with_its_reason_and_the_others_go_on(done: Done) -> None:
    failed = [one for one in done.result.outcomes if one.cell.chain == "broken"]

    assert len(failed) == 4
    assert all("candidate lists" in one.reason and "\n" not in one.reason for one in failed)
    assert all(one.evaluation is None and one.folder is None for one in failed)
    assert sum(not one.reason for one in done.result.outcomes) == 8
    assert done.result.exit_code == 1


@pytest.mark.slow
def test_tuning_never_sees_the_test_fold_and_its_choice_is_locked(done: Done) -> None:
    home = done.here / "outputs" / "studies" / "mine"
    trials = sorted((home / "tunings").glob("*/*/[0-9]*/config.yaml"))
    configs = [yaml.safe_load(file.read_text()) for file in trials]
    assert [config["fold"] for config in configs] == ["valid"] * 4
    assert {config["objective"] for config in configs} == {METRICS[0]}
    locked = yaml.safe_load((home / "study.lock.yaml").read_text())

    for one in locked["tuned"]:
        found = [json.loads(file.read_text()) for file in home.glob(f"tunings/knn/{one['world']}/journal/*.json")]
        best = max(found, key=lambda trial: (trial["objective"], -trial["number"]))
        assert one["value"] == best["objective"]
        assert set(one["overrides"]) <= set(best["words"])
        cells = [cell.cell for cell in done.result.outcomes if cell.cell.pair == ("knn", one["world"])]
        assert all(set(one["overrides"]) < set(cell.overrides) for cell in cells)
        assert all("fold=test" in cell.overrides and f"seed={cell.seed}" in cell.overrides for cell in cells)


@pytest.mark.slow
def test_a_study_that_lost_cells_is_resumed_to_the_same_figures(done: Done, here: Path) -> None:
    home = done.copied(here)
    (home / "journal" / "random" / "small" / "1.json").unlink()
    shutil.rmtree(home / "cells" / "knn" / "other" / "0")
    (home / "tunings" / "knn" / "small" / "journal" / "1.json").unlink()
    before = (home / "study.lock.yaml").read_text()
    kept = (home / "journal" / "random" / "small" / "0.json").read_text()

    again = recx.study(SPEC, QUIET, jobs=1, name="mine", resume=True)

    assert figures(again) == figures(done.result)
    assert (home / "study.lock.yaml").read_text() == before
    assert (home / "journal" / "random" / "small" / "0.json").read_text() == kept, "what was done did not run again"


@pytest.mark.slow
def test_what_is_there_is_not_run_over(done: Done, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done.copied(here)
    with pytest.raises(InputError, match=r"study mine: outputs/studies/mine holds one of that name: .* resume"):
        recx.study(SPEC, QUIET, jobs=1, name="mine")
    with pytest.raises(InputError, match="study fresh: none was started in outputs/studies"):
        recx.study(SPEC, QUIET, jobs=1, name="fresh", resume=True)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            changed(random=["retriever=random", "ranker=identity", "n_candidates=20"]),
            "chain random in world small was started with nothing of that and has n_candidates=20 now",
        ),
        ({**SPEC, "tuning": {"trials": 3}}, "tuning of chain knn in world small was started with trials 2 and has 3"),
        ({**SPEC, "metrics": ["ndcg_at_10", "recall_at_30"]}, "was started with evaluator.end_to_end="),
    ],
)
@pytest.mark.slow
def test_a_study_that_says_something_else_now_is_not_resumed(
    spec: dict[str, Any], message: str, done: Done, here: Path
) -> None:
    done.copied(here)
    with pytest.raises(InputError, match=message) as raised:
        recx.study(spec, QUIET, jobs=1, name="mine", resume=True)
    assert "name=OTHER" in str(raised.value)


@pytest.mark.slow
def test_more_chains_and_seeds_may_join_a_study(done: Done, here: Path) -> None:
    done.copied(here)
    spec = changed(last=["retriever=popularity", "ranker=identity", "n_candidates=20"])

    more = recx.study(spec, QUIET, jobs=1, name="mine", resume=True, chains=["last", "random"], seeds=[1, 2])

    assert {one.cell.chain for one in more.outcomes} == {"last", "random"}
    assert not any(one.reason for one in more.outcomes)
    assert figures(more)["random", "small", 1] == figures(done.result)["random", "small", 1]


@pytest.mark.slow
def test_another_person_runs_the_very_same_from_the_lock_file(
    done: Done, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = done.here / "outputs" / "studies" / "mine" / "study.lock.yaml"

    same = recx.study(lock, QUIET, jobs=1, name="again", chains=["knn", "broken"], seeds=[1])

    assert figures(same) == {key: one for key, one in figures(done.result).items() if key[0] != "random" and key[2]}
    assert "lock file" not in capsys.readouterr().out
    assert not (here / "outputs" / "studies" / "again" / "tunings").exists()
    first, second = (yaml.safe_load(file.read_text()) for file in (lock, same.folder / "study.lock.yaml"))
    assert second["cells"] == [cell for cell in first["cells"] if cell["chain"] != "random" and cell["seed"]]
    assert second["tuned"] == first["tuned"]


@pytest.mark.slow
def test_other_versions_and_other_data_than_in_the_lock_file_are_said(
    done: Done, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = yaml.safe_load((done.here / "outputs/studies/mine/study.lock.yaml").read_text())
    content["versions"]["numpy"], content["code"] = "1.0", "other"
    for cell in content["cells"]:
        if cell["world"] == "small":
            cell["data"] = "0" * 32
    (here / "its.lock.yaml").write_text(yaml.safe_dump(content))

    found = recx.study("its.lock.yaml", QUIET, jobs=1, chains=["random"], seeds=[0])

    said = capsys.readouterr().out
    assert f"other versions than in the lock file: numpy {np.__version__} (there 1.0)\n" in said
    assert "the code of recx or of a plugin is not that of the lock file" in said
    small, other = found.outcomes
    assert small.reason.startswith("its data is not that of the lock file (hash ")
    assert not math.isnan(other.seconds)
    assert not other.reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"study": "../up"}, "study: ../up: it names a folder"),
        ({"metrics": 3}, "metrics=3: it must be a list"),
        ({"cells": []}, "it has no cells"),
        ({"cells": [{"chain": "a"}]}, "is damaged"),
        ({"tuned": []}, "the tuning of chain knn in world small was not finished"),
    ],
)
@pytest.mark.slow
def test_a_damaged_lock_file_is_one_sentence(change: dict[str, Any], message: str, done: Done, here: Path) -> None:
    content = yaml.safe_load((done.here / "outputs/studies/mine/study.lock.yaml").read_text())
    (here / "its.lock.yaml").write_text(yaml.safe_dump({**content, **change}))
    with pytest.raises(InputError) as raised:
        recx.study("its.lock.yaml", QUIET, jobs=1)
    assert message in str(raised.value)
    assert not (here / "outputs").exists()


@pytest.mark.slow
def test_the_lock_file_of_a_stranger_names_no_code(done: Done, here: Path) -> None:
    content = yaml.safe_load((done.here / "outputs/studies/mine/study.lock.yaml").read_text())
    content["tuned"][0]["overrides"] = ["ranker.object=os:system"]
    (here / "its.lock.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(
        InputError, match=r"chain knn in world other: ranker\.object=os:system: it names code to import"
    ):
        recx.study("its.lock.yaml", QUIET, jobs=1)


def test_code_that_the_command_line_does_not_name_is_not_imported(here: Path) -> None:
    spec = changed(own=["ranker=callable", "ranker.object=os:getcwd"])
    with pytest.raises(InputError, match=r"chains\.own: ranker\.object=os:getcwd: it names code to import"):
        recx.study(spec, QUIET, jobs=1)
    assert not (here / "outputs").exists()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (changed(typo=["retriever=itm_knn"]), "the study: chain typo in world small: .*did you mean 'item_knn'"),
        (changed(typo=["retriever.k=3"]), "the study: chain typo in world small: retriever.k"),
        ({**SPEC, "metrics": ["ndcgg_at_10"]}, "there is no metric 'ndcgg_at_10': did you mean"),
        (
            {**SPEC, "worlds": {"w": [*NEWS, "dataset.path='{data}/x'"]}},
            "the folder of the data is missing: give data=",
        ),
    ],
)
def test_a_typo_is_found_before_anything_runs(spec: dict[str, Any], message: str, here: Path) -> None:
    with pytest.raises(InputError, match=message):
        recx.study(spec, QUIET, jobs=1)
    assert not (here / "outputs").exists()

"""Documents for queries: whole runs of ``+experiment=rerank``, its laws and the figures that it must reach."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from recx.config.compose import compose, plain
from recx.core.ragged import indptr_of, order_in_groups
from recx.core.types import Interactions, RankedLists
from recx.experiment import build
from recx.experiment.experiment import Experiment, Result


@dataclass(frozen=True)
class Loaded:
    """A dataset that is in memory already."""

    interactions: Interactions

    def load(self) -> Interactions:
        return self.interactions


def composed(*overrides: str) -> Experiment:
    return build.experiment(plain(compose(["+experiment=rerank", "tracker=console", *overrides])))


@cache
def run(*overrides: str) -> Result:
    return composed(*overrides).run()


def figures(result: Result) -> Mapping[str, float]:
    assert result.report is not None
    return {name.removeprefix("end_to_end/"): value for name, value in result.report.means.items()}


def with_labels_shuffled(world: Interactions, queries: np.ndarray, seed: int = 0) -> Interactions:
    """Return the world with the grades of these queries dealt anew to the documents of their slates."""
    rng, slates = np.random.default_rng(seed), world.slates
    assert slates is not None
    grade = np.zeros((world.n_users, world.n_items), dtype=np.float32)
    grade[world.user, world.item] = world.weight
    moved = np.zeros_like(grade)
    for number, user in enumerate(slates.user):
        item = slates[number : number + 1].item
        moved[user, rng.permutation(item) if user in queries else item] = grade[user, item]
    user, item = np.nonzero(moved)
    indptr = indptr_of(np.bincount(user, minlength=world.n_users))
    return replace(world, indptr=indptr, item=item.astype(np.int32), weight=moved[user, item])


def by_item(lists: RankedLists) -> np.ndarray:
    return lists.item[order_in_groups(-lists.item, lists.indptr)]


def test_the_made_up_queries_are_ranked_far_better_than_by_chance() -> None:
    random, learnt = run("ranker=identity"), run()
    assert learnt.split.past is not None
    assert len(learnt.split.past.requests) > 3 * len(learnt.split.fold.requests)
    assert figures(random)["auc"] == pytest.approx(0.5, abs=1e-9)  # all scores tie
    assert figures(learnt)["map"] > figures(random)["map"] + 0.25
    assert len(learnt.weights) == 20
    assert np.array_equal(by_item(random.recommendations), by_item(learnt.recommendations))


def test_law_1_other_answers_of_the_asked_queries_change_nothing() -> None:
    first = run()
    asked = first.split.fold.requests.user
    changed = replace(composed(), dataset=Loaded(with_labels_shuffled(first.interactions, asked))).run()
    assert figures(changed)["ndcg_at_5"] < figures(first)["ndcg_at_5"] - 0.1
    assert changed.weights == first.weights
    assert np.array_equal(changed.recommendations.item, first.recommendations.item)
    assert np.array_equal(changed.recommendations.score, first.recommendations.score)


def test_law_2_trained_on_shuffled_labels_the_ranker_scores_at_chance() -> None:
    world = composed("dataset.queries=1000").dataset.load()
    canary = with_labels_shuffled(world, np.arange(world.n_users))
    found = figures(replace(composed(), dataset=Loaded(canary)).run())
    # 191 queries of 22 documents on average: 4 standard deviations of the mean AUC are 0.05.
    assert found["auc"] == pytest.approx(0.5, abs=0.05)


def test_the_order_of_the_lines_and_what_documents_are_called_change_nothing(tmp_path: Path) -> None:
    world = composed("dataset.queries=60", "dataset.features=4").dataset.load()
    slates = world.slates
    assert slates is not None
    grade = np.zeros((world.n_users, world.n_items))
    grade[world.user, world.item] = world.weight
    user = np.repeat(slates.user, slates.lengths)
    lines = [
        (" ".join(f"{name}:{column[row]}" for name, column in slates.columns.items()), user[row], slates.item[row])
        for row in range(len(slates))
    ]

    def scores(number: int) -> dict[str, float]:
        """Return features -> score of all that was ranked; 0: as it was made, 1: turned round and renamed."""
        order = lines[:: 1 - 2 * number]
        file = tmp_path / f"{number}.txt"
        name = [f"D{item}" if number == 0 else f"E{world.n_items - item:06}" for item in range(world.n_items)]
        file.write_text("".join(f"{grade[u, i]} qid:{u} {said} #docid = {name[i]}\n" for said, u, i in order))
        lists = composed(f"dataset.path={file}").run().recommendations
        columns = np.stack(list(lists.columns.values()), axis=1).tolist()
        return {str(values): score for values, score in zip(columns, lists.score.tolist(), strict=True)}

    assert scores(1) == pytest.approx(scores(0), abs=1e-5)


def test_documents_are_numbered_without_regard_to_their_labels() -> None:
    world = composed("dataset.queries=1000").dataset.load()
    good = np.isin(np.arange(world.n_items), world.item)
    assert np.arange(world.n_items)[good].mean() == pytest.approx(world.n_items / 2, rel=0.05)


@pytest.fixture(scope="module")
def mq2008(shared_data: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder whose train is S1 and S2, and whose test is S3."""
    folder = tmp_path_factory.mktemp("mq2008")
    parts = {part: gzip.decompress(shared_data(f"mq2008/{part}.txt.gz").read_bytes()) for part in ("S1", "S2", "S3")}
    (folder / "train.txt").write_bytes(parts["S1"] + parts["S2"])
    (folder / "test.txt").write_bytes(parts["S3"])
    return str(folder)


def test_mq2008_is_ranked_as_well_as_it_can_be_by_a_linear_model(mq2008: str) -> None:
    random, learnt = (figures(composed(f"dataset.path={mq2008}", f"ranker={r}").run()) for r in ("identity", "linear"))
    assert random["users"] == 122
    assert random["map"] == pytest.approx(0.43, abs=0.02)
    assert learnt["map"] >= 0.69
    assert learnt["ndcg_at_5"] >= 0.67


def test_lightgbms_example_runs_by_its_group_files(shared_data: Callable[[str], Path]) -> None:
    found = composed(f"dataset.path={shared_data('lightgbm-lambdarank')}").run()
    assert len(found.split.fold.requests) == 50
    assert figures(found)["ndcg_at_5"] > 0.68


def test_mind_is_judged_by_time(shared_data: Callable[[str], Path]) -> None:
    chosen = ("dataset=mind", f"dataset.path={shared_data('mind-5k')}", "split=by_time", "feature=basic")
    random, learnt = (figures(composed(*chosen, f"ranker={ranker}").run()) for ranker in ("identity", "linear"))
    assert learnt["ndcg_at_5"] > random["ndcg_at_5"] + 0.005

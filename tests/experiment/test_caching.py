"""Law 5: a run has the same numbers with and without the cache, and computes nothing that is cached."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import yaml

import recx
from recx.cli.commands import compare, explain
from recx.config.compose import compose, plain
from recx.core.errors import InputError
from recx.core.fit_summary import summary_of
from recx.core.protocols import Feature
from recx.core.types import Interactions, RankedLists, Requests
from recx.evaluation.evaluator import Evaluator
from recx.experiment import build, caching
from recx.experiment.caching import cached
from recx.experiment.experiment import Experiment, Result
from recx.experiment.model.keep import keep
from recx.parts.feature.content import Age
from recx.parts.feature.popularity import Clicks
from recx.parts.feature.retrieval import Score
from recx.parts.ranker.identity import Identity
from recx.parts.ranker.linear import Linear
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.union import FittedUnion, Union
from recx.parts.split.leave_last import LeaveLast
from recx.storage.cache.store import Cache
from recx.testing.tiny_dataset import tiny_world

TINY = ["+experiment=news", "tracker=console", "dataset.readers=300", "dataset.articles=100"]
EVALUATOR = Evaluator(["recall_at_5"], ["ndcg_at_3"], ["ndcg_at_3"])
FITS = ("load", "fit_retriever", "retrieve", "fit_ranker", "rank", "evaluate")


class World:
    """Not a dataclass: a dataset without a key, whose events are identified by their content."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def load(self) -> Interactions:
        return tiny_world(seed=self.seed)


def chain(**parts: Any) -> Experiment:
    usual: dict[str, Any] = {
        "dataset": World(),
        "splitter": LeaveLast(),
        "retriever": Union({"a": ItemKNN(), "b": Popularity()}),
        "ranker": Linear({"clicks": Clicks(), "score": Score(), "age": Age()}, resamples=20, probabilities="platt"),
        "evaluator": EVALUATOR,
        "n_candidates": 8,
    }
    return Experiment(**{**usual, **parts})


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def run(experiment: Experiment, cache: Cache) -> Result:
    cache.hits.clear()
    with cache.used():
        result = cached(experiment, cache).run()
    return replace(result, experiment=experiment, hits=dict(cache.hits))


def assert_same(one: Result, other: Result) -> None:
    for lists, others in ((one.candidates, other.candidates), (one.recommendations, other.recommendations)):
        for name in ("user", "indptr", "item", "score"):
            np.testing.assert_array_equal(getattr(lists, name), getattr(others, name), strict=True)
        assert list(lists.columns) == list(others.columns)
        for name, column in lists.columns.items():
            np.testing.assert_array_equal(column, others.columns[name], strict=True)
    left, right = (
        {name: value for name, value in result.metrics.items() if not name.startswith(("time/", "data/cache_hits"))}
        for result in (one, other)
    )
    assert list(left) == list(right)
    np.testing.assert_array_equal(list(left.values()), list(right.values()))
    assert list(one.curves.items()) == list(other.curves.items())
    assert one.tables.keys() == other.tables.keys()
    for name, table in one.tables.items():
        for column in table:
            np.testing.assert_array_equal(table[column], other.tables[name][column])


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"refit": False},
        {"fold": "valid"},
        {"fold": "predict"},
        {"ranker": Identity()},
        {"ranker": Identity(), "refit": False, "n_candidates": 3},
        {"splitter": LeaveLast(request_time="last_event")},
    ],
    ids=str,
)
def test_the_numbers_are_the_same_to_the_bit(parts: dict[str, Any], cache: Cache) -> None:
    plain = chain(**parts).run()
    first, second = run(chain(**parts), cache), run(chain(**parts), cache)
    assert_same(plain, first)
    assert_same(plain, second)
    assert first.hits == {}
    assert second.hits
    assert second.metrics["data/cache_hits"] == sum(second.hits.values())
    assert "data/cache_hits" not in plain.metrics


def test_what_is_kept_is_not_computed(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    run(chain(), cache)

    def never(*_: object) -> Any:
        raise AssertionError("this is cached")

    for kind, method in ((Union, "fit"), (FittedUnion, "retrieve"), (Linear, "fit"), (Evaluator, "evaluate")):
        monkeypatch.setattr(kind, method, never)
    assert set(run(chain(), cache).hits or {}) == set(FITS) - {"load"}


def test_another_setting_of_the_ranker_runs_no_retriever_and_no_feature(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(chain(), cache)
    monkeypatch.setattr(Union, "fit", None)
    monkeypatch.setattr(Clicks, "fit", None)
    experiment = chain(ranker=replace(chain().ranker, l2=0.5))  # type: ignore[type-var]
    result = run(experiment, cache)
    monkeypatch.undo()
    assert_same(result, experiment.run())
    assert (result.hits or {})["features"] == 6  # three each for the calibration and the ranking
    assert (result.hits or {})["examples"] == 1  # and those of the fit, standardised
    assert "fit_ranker" not in (result.hits or {})


def test_leaving_a_feature_out_computes_no_other(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    features: dict[str, Feature] = {"clicks": Clicks(), "score": Score(), "age": Age(), "again": Clicks()}
    run(chain(ranker=Linear(features, resamples=0)), cache)
    fewer = chain(ranker=Linear({"clicks": Clicks(), "age": Age()}, resamples=0))
    monkeypatch.setattr(Clicks, "fit", None)
    assert (run(fewer, cache).hits or {})["features"] == 4
    monkeypatch.undo()
    assert_same(fewer.run(), run(fewer, cache))


@pytest.mark.parametrize(
    ("changed", "computed"),
    [
        ({"dataset": World(seed=1)}, set(FITS)),
        ({"splitter": LeaveLast(request_time="last_event")}, set(FITS)),
        ({"retriever": Union({"a": ItemKNN(last=3), "b": Popularity()})}, set(FITS)),
        ({"n_candidates": 7}, {"load", "retrieve", "fit_ranker", "rank", "evaluate"}),
        ({"evaluator": Evaluator(["recall_at_5"], ["ndcg_at_3"], ["ndcg_at_5"])}, {"load", "evaluate"}),
    ],
    ids=["data", "split", "retriever", "n_candidates", "evaluator"],
)
def test_what_has_changed_is_computed_anew(changed: dict[str, Any], computed: set[str], cache: Cache) -> None:
    run(chain(), cache)
    result = run(chain(**changed), cache)
    assert set(FITS) - set(result.hits or {}) == computed
    assert_same(result, chain(**changed).run())


def test_a_stand_in_serves_as_the_fitted_part_would(cache: Cache) -> None:
    fresh = chain().run()
    run(chain(), cache)
    result = run(chain(), cache)
    history, requests = result.split.fold.history, result.split.fold.requests
    for got in (result, fresh):
        assert got.retriever.retrieve(history, requests, 3).item.tolist() == (
            fresh.retriever.retrieve(history, requests, 3).item.tolist()
        )
        ranked = got.ranker.rank(fresh.candidates, history, requests)
        assert ranked.item.tolist() == fresh.recommendations.item.tolist()
    assert list(summary_of(result.ranker).weights) == ["clicks", "score", "age"]


def kept(result: Result, folder: Path) -> dict[str, bytes]:
    """Return the files of a run's chain, and what they hold."""
    assert keep(result, folder, {"model": "parts"}, {}) is not None
    files = {path.name: path.read_bytes() for path in (folder / "model").iterdir()}
    del files["model.json"]  # it tells the time
    return files


def test_what_is_kept_of_a_stand_in_is_the_fitted_part(cache: Cache, tmp_path: Path) -> None:
    results = (chain().run(), run(chain(), cache), run(chain(), cache))
    plain, first, second = (kept(result, tmp_path / str(number)) for number, result in enumerate(results))
    assert plain == first == second


def test_a_stand_in_whose_entry_was_pruned_is_fitted_to_be_kept(cache: Cache, tmp_path: Path) -> None:
    expected = kept(run(chain(), cache), tmp_path / "first")
    result = run(chain(), cache)
    for entry in cache.folder.iterdir():
        entry.rename(tmp_path / entry.name)
    assert kept(result, tmp_path / "again") == expected


@pytest.mark.parametrize(
    "changed",
    [
        {"n_candidates": 5},
        {"ranker": Identity()},
        {"ranker": Linear({"clicks": Clicks()}, resamples=0)},
        {"evaluator": Evaluator(["recall_at_3"], ["ndcg_at_2"], ["ndcg_at_2"])},
    ],
    ids=["n_candidates", "no ranker", "ranker", "metrics"],
)
def test_no_retriever_is_fitted_again_for_other_lists_rankers_or_metrics(
    changed: dict[str, Any], cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = chain(**changed).run()
    run(chain(), cache)
    for kind in (Union, ItemKNN, Popularity):
        monkeypatch.setattr(kind, "fit", None)
    assert_same(expected, run(chain(**changed), cache))


def fitted_folders(cache: Cache) -> list[Path]:
    return [path for path in cache.folder.rglob("fitted") if path.is_dir()]


def flipped(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"?")


@pytest.mark.parametrize("damage", [shutil.rmtree, flipped], ids=["pruned", "damaged"])
def test_a_kept_part_that_cannot_be_read_is_fitted_again(damage: Callable[[Path], None], cache: Cache) -> None:
    changed = {"n_candidates": 5}
    expected = chain(**changed).run()
    run(chain(), cache)
    assert fitted_folders(cache)
    for folder in fitted_folders(cache):
        damage(folder)
    assert_same(expected, run(chain(**changed), cache))
    assert_same(expected, run(chain(**changed), cache))


def test_a_part_of_a_class_that_is_gone_is_fitted_again(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = chain(n_candidates=5).run()
    run(chain(), cache)

    def gone(path: str) -> type:
        raise InputError(f"{path} is neither a class of recx nor of an installed plugin")

    monkeypatch.setattr(caching, "locate", gone)
    assert_same(expected, run(chain(n_candidates=5), cache))


class Learned:
    """A fitted retriever that is no dataclass, so that it cannot be kept."""

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        return Popularity().retrieve(history, requests, k)


@dataclass(frozen=True)
class Learning:
    def fit(self, history: Interactions) -> Learned:
        return Learned()


def test_a_part_that_cannot_be_kept_is_fitted_again(cache: Cache, tmp_path: Path) -> None:
    parts = {"retriever": Learning()}
    expected, other = chain(**parts).run(), chain(**parts, n_candidates=5).run()
    run(chain(**parts), cache)
    assert_same(expected, run(chain(**parts), cache))
    result = run(chain(**parts, n_candidates=5), cache)
    assert_same(other, result)
    assert keep(result, tmp_path, {"model": "parts"}, {}) is None


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_says_what_came_from_the_cache(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = recx.run(TINY), recx.run(TINY)
    assert_same(first, second)
    printed = capsys.readouterr().out
    assert "cached" in printed
    assert "retrieve" in printed
    assert first.metrics["data/cache_hits"] == 0
    assert second.metrics["data/cache_hits"] == 8
    assert (home / "outputs" / "cache").is_dir()
    cards = [json.loads(path.read_text()) for path in sorted(home.glob("outputs/*/*/protocol.json"))]
    assert len(cards) == 2
    assert cards[0] == cards[1]


def test_modes_read_and_off_write_nothing(home: Path) -> None:
    read, off = (recx.run([*TINY, f"cache={mode}"]) for mode in ("read", "off"))
    assert not (home / "outputs" / "cache").exists()
    assert read.hits == {}
    assert off.hits is None


EXPERIMENTS = {
    "news": [*TINY[2:], "n_candidates=20"],
    "news_submission": [*TINY[2:], "n_candidates=20"],
    "tools": ["dataset.tasks=150", "dataset.tools=15", "n_candidates=10"],
    "agents": ["dataset.traces=30", "dataset.n_candidates=5"],
    "rerank": ["dataset.queries=30", "dataset.features=5"],
}
OTHER_PARTS = [
    ["ranker=identity", "retriever=ease", "refit=false"],
    ["retriever=faiss", "split=by_time", "ranker.probabilities=platt", "seen=keep"],
    ["retriever=popularity", "split=by_user", "split.given=2", "ranker.missed=add", "ranker.optimizer=sgd"],
    [
        *("retriever=random", "feature=basic", "ranker.optimizer=gd", "ranker.non_negative=true", "seed=7"),
        *("fold=valid", "evaluator.tables=[roc_curve,confusion_matrix,classification]"),
    ],
    ["retriever.method=score", "ranker.probabilities=softmax", "runtime.threads=1"],
]


def left_by(folder: Path) -> dict[str, Any]:
    """Return the contents of a run's folder without seconds and cache hits."""
    found: dict[str, Any] = {}
    for path in folder.rglob("*"):
        if (
            path.suffix in (".parquet", ".csv", ".npz", ".safetensors", ".faiss", ".svg")
            or path.name == "protocol.json"
        ):
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
        elif path.name == "model.json":  # it tells the time, and config.yaml differs by the cache
            found["model"] = json.loads(path.read_text())["files"]
            del found["model"]["config.yaml"]
        elif path.name == "metrics.json" or (path.suffix == ".json" and path.parent != folder):
            content = json.loads(path.read_text())
            kept = {name: content[name] for name in content if not name.startswith(("time/", "data/cache_hits"))}
            found[path.relative_to(folder).as_posix()] = kept
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        *(pytest.param(name, EXPERIMENTS[name], id=name) for name in EXPERIMENTS if name != "news"),
        *(pytest.param("news", [*EXPERIMENTS["news"], *parts], id=f"news {' '.join(parts)}") for parts in OTHER_PARTS),
    ],
)
def test_every_experiment_leaves_the_same_files(
    name: str, overrides: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left, printed = [], []
    for number, mode in enumerate(("off", "on", "on")):
        folder = home / str(number)
        recx.run([f"+experiment={name}", "tracker=console", *overrides, f"cache={mode}", f"hydra.run.dir={folder}"])
        left.append(left_by(folder))
        capsys.readouterr()
        if "predict" not in (folder / "config.yaml").read_text():
            assert explain.run([str(folder), "--worst", "3", "--json"]) == 0
        printed.append(capsys.readouterr().out)
    assert left[0].keys() >= {"metrics.json", "protocol.json", "recommendations.parquet"}
    for others in left[1:]:
        assert others.keys() == left[0].keys()
        for file, content in left[0].items():
            assert others[file] == content, file
    assert printed == [printed[0]] * 3
    if "per_user.parquet" in left[0]:
        assert compare.run(["0", "2"]) == 0
        assert "0.0000" in capsys.readouterr().out


def test_a_file_chooses_the_cache_in_its_defaults_list(home: Path) -> None:
    (home / "conf/experiment").mkdir(parents=True)
    words = ["+experiment=mine", f"hydra.searchpath=['file://{home}/conf']"]

    def mode(text: str) -> str:
        (home / "conf/experiment/mine.yaml").write_text(f"# @package _global_\n{text}\n")
        return build.plan(plain(compose(words))).cache.mode

    assert mode('defaults:\n  - override /cache: "off"') == "off"
    with pytest.raises(InputError, match=r'cache is not a part: .* - override /cache: "NAME"'):
        mode("cache: off")
    with pytest.raises(InputError, match='write - override /cache: "off", with the quotes'):
        mode("defaults:\n  - override /cache: off")
    for word in ("maybe", "true"):
        with pytest.raises(InputError, match="option"):
            recx.run([*TINY, f"cache={word}"])


def test_a_run_of_a_configuration_without_the_group_can_be_explained(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recx.run([*TINY, "hydra.run.dir=run"])
    file = home / "run" / "config.yaml"
    config = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump({**config, "cache": "on"}, sort_keys=False))
    assert explain.run(["run", "--worst", "2", "--json"]) == 0
    assert capsys.readouterr().out


@dataclass(frozen=True)
class Reading:
    """Generates data from the seed in a file, which is written to while it is read."""

    path: str
    meanwhile: ClassVar[str] = ""

    def load(self) -> Interactions:
        seed = int(Path(self.path).read_text())
        Path(self.path).write_text(self.meanwhile)
        return tiny_world(seed=seed)


def test_what_was_written_to_while_it_was_read_is_kept_under_no_key(
    cache: Cache, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = here / "seed"
    for before, after in (("1", "12"), ("12", "1"), ("1", "1")):
        file.write_text(before)
        monkeypatch.setattr(Reading, "meanwhile", after)
        expected = chain(dataset=World(int(before))).run()
        assert_same(expected, run(chain(dataset=Reading(str(file))), cache))

"""Parts are built from configurations, only from recx and installed plugins."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from recx.core.errors import InputError
from recx.experiment import build
from recx.experiment.experiment import Experiment
from recx.parts.reranker.popularity import Popularity
from recx.parts.reranker.reranked import TrainedThenReranked


@dataclass(frozen=True)
class Data:
    path: str | None = None
    rows: int = 3

    def load(self) -> None: ...


@dataclass(frozen=True)
class Split:
    def split(self, interactions: object, fold: object) -> None: ...


@dataclass(frozen=True)
class Encoder:
    def fit(self, texts: object) -> None: ...


@dataclass(frozen=True)
class Retriever:
    window: float
    inner: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.window <= 0:
            raise InputError(f"window={self.window}: it must be above 0")

    def fit(self, history: object) -> None: ...


@dataclass(frozen=True)
class Ranker:
    l2: float = 0.1
    features: Mapping[str, object] | None = None

    def fit(self, candidates: object, fold: object) -> None: ...


@dataclass(frozen=True)
class Feature:
    window: int = 1

    def __post_init__(self) -> None: ...

    def fit(self, history: object) -> None: ...


@dataclass(frozen=True)
class Evaluator:
    def evaluate(self, candidates: object, recommendations: object, fold: object) -> None: ...


@dataclass(frozen=True)
class Tracker:
    def run(self, name: object, params: object, context: object) -> None: ...


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return a whole configuration of stand-ins that lie in a module of recx."""
    module = ModuleType("recx.stand_ins")
    module.sys = sys  # type: ignore[attr-defined]
    for kind in (Data, Split, Encoder, Retriever, Ranker, Feature, Evaluator, Tracker):
        monkeypatch.setattr(kind, "__module__", "recx.stand_ins")
        setattr(module, kind.__name__, kind)
    vars(module).update({"Any": Any, "Mapping": Mapping})
    monkeypatch.setitem(sys.modules, "recx.stand_ins", module)
    return {
        "name": "x",
        "seed": 0,
        "fold": "test",
        "n_candidates": 10,
        "refit": True,
        "seen": "drop",
        "objective": "o",
        "allow_tuning_on_test": False,
        "lists": "all",
        "model": "parts",
        "filter": None,
        "cache": {"_target_": "recx.storage.cache.settings.StageCache", "mode": "off", "limit": None},
        "runtime": {"threads": None},
        "feature": {},
        "dataset": {"_target_": "recx.stand_ins.Data"},
        "split": {"_target_": "recx.stand_ins.Split"},
        "encoder": {"_target_": "recx.stand_ins.Encoder"},
        "retriever": {"_target_": "recx.stand_ins.Retriever", "window": 2},
        "ranker": {"_target_": "recx.stand_ins.Ranker", "l2": 1},
        "engine": {"_target_": "recx.experiment.engine.local.Local"},
        "evaluator": {"_target_": "recx.stand_ins.Evaluator"},
        "tracker": {"_target_": "recx.stand_ins.Tracker"},
        "report": None,
        "pruner": None,
        "benchmark": None,
    }


def test_a_plan_holds_the_parts_with_their_settings(config: dict[str, Any]) -> None:
    plan = build.plan(config)
    assert plan.experiment == Experiment(Data(), Split(), Retriever(2.0), Ranker(1.0), Evaluator(), n_candidates=10)  # type: ignore[arg-type]
    assert plan.tracker == Tracker()
    assert plan.report is None
    assert build.experiment(config) == plan.experiment


def test_a_reranker_stands_after_the_ranker(config: dict[str, Any]) -> None:
    assert build.experiment({**config, "reranker": None}).ranker == Ranker(1.0)  # earlier runs lack the key
    config["reranker"] = {"_target_": "recx.parts.reranker.popularity.Popularity", "penalty": 0.5}
    assert build.experiment(config).ranker == TrainedThenReranked(Ranker(1.0), Popularity(0.5))  # type: ignore[arg-type]


def test_parts_inside_parts_are_built_first(config: dict[str, Any]) -> None:
    config["retriever"]["inner"] = [{"_target_": "recx.stand_ins.Retriever", "window": 5}]
    config["ranker"]["features"] = {"a": {"_target_": "recx.stand_ins.Data"}}
    experiment = build.experiment(config)
    assert experiment.retriever == Retriever(2.0, (Retriever(5.0),))
    assert experiment.ranker == Ranker(1.0, {"a": Data()})


def test_a_feature_is_built_once_and_handed_to_the_ranker(config: dict[str, Any]) -> None:
    made: list[Feature] = []
    config["feature"] = {"a": {"_target_": "recx.stand_ins.Feature", "window": 2}}
    config["ranker"]["features"] = {"a": {"_target_": "recx.stand_ins.Feature", "window": 2}}  # as ${feature} gives
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Feature, "__post_init__", lambda feature: made.append(feature))
        ranker = build.experiment(config).ranker
    assert ranker == Ranker(1.0, {"a": made[0]})
    assert made == [Feature(2)]
    config["ranker"]["features"]["a"]["window"] = 3  # features of its own
    assert build.experiment(config).ranker == Ranker(1.0, {"a": Feature(3)})


def test_a_method_may_have_more_arguments_that_have_defaults(
    config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Retriever, "fit", lambda self, history, slowly=False: None)
    assert isinstance(build.experiment(config).retriever, Retriever)
    monkeypatch.setattr(Retriever, "fit", lambda self, history, slowly: None)
    with pytest.raises(InputError, match="which needs a method fit of 1 argument: see"):
        build.experiment(config)


WRONG = [
    ("ranker", {"_target_": "os.system"}, "ranker._target_=os.system: parts come from recx"),
    ("ranker", {"_target_": "builtins.exec"}, "parts come from recx"),
    ("ranker", {"_target_": "recx.stand_ins.sys.exit"}, "cannot be imported"),
    ("ranker", {"_target_": "recx.stand_ins.sys"}, "no part of that name"),
    ("ranker", {"_target_": "recx.stand_ins.Mapping"}, "no part of that name"),
    ("ranker", {"_target_": "recx.cli.main.main"}, "no part of that name"),
    ("ranker", {"_target_": "recx"}, "parts come from recx"),
    ("ranker", {"_target_": "recx.rankr.Linear"}, "cannot be imported"),
    (
        "ranker",
        {"_target_": "recx.stand_ins.Data"},
        "a method fit of 2 arguments or rank of 3 arguments: see",
    ),
    ("ranker", {"_target_": "recx.stand_ins.Retriever", "window": 1}, "it cannot be the ranker"),
    ("retriever", {"_target_": "recx.stand_ins.Ranker"}, "it cannot be the retriever, which needs a method fit"),
    ("retriever", {"_target_": "recx.stand_ins.Retriever"}, "retriever.window is missing"),
    (
        "retriever",
        {"_target_": "recx.stand_ins.Retriever", "windw": 1},
        "retriever.windw: Retriever has no such setting: did you mean 'window'?",
    ),
    ("retriever", {"_target_": "recx.stand_ins.Retriever", "window": "a"}, "retriever.window=a: it must be a number"),
    ("retriever", {"_target_": "recx.stand_ins.Retriever", "window": 0}, "retriever: window=0.0: it must be above 0"),
    (
        "retriever",
        {"_target_": "recx.stand_ins.Retriever", "window": 1, "inner": [{"_target_": "os.system"}]},
        "retriever.inner.0._target_=os.system",
    ),
    (
        "feature",
        {"age": {"_target_": "recx.stand_ins.Data", "rows": 1.5}},
        "feature.age.rows=1.5: it must be a whole number",
    ),
    ("dataset", None, "dataset is not a part"),
    ("dataset", {}, "dataset is not a part"),
    ("dataset", "news", "dataset is not a part"),
    ("cache", "off", "cache is not a part: choose one with cache=NAME (`python -m recx list cache`), or in"),
    (
        "dataset",
        {"path": "x.csv"},
        "dataset has no _target_: write _target_: PACKAGE.MODULE.CLASS into",
    ),
    ("reranker", {"_target_": "recx.stand_ins.Data"}, "it cannot be the reranker, which needs a method rank"),
    ("report", {"_target_": "recx.stand_ins.Data"}, "it cannot be the report, which needs a method write"),
    ("pruner", {"_target_": "recx.stand_ins.Data"}, "it cannot be the pruner, which needs a method prune"),
    ("n_candidates", 0, "n_candidates=0: it must be 1 or more"),
    ("n_candidates", 1.5, "n_candidates=1.5: it must be a whole number"),
    ("n_candidates", True, "n_candidates=true: it must be a whole number"),
    ("seed", "x", "seed=x: it must be a whole number"),
    ("seen", "drp", "seen=drp: did you mean 'drop'?"),
    ("fold", "tst", "fold=tst: did you mean 'test'?"),
    ("refit", "no", "refit=no: it must be true or false"),
    ("lists", "top", "lists=top: it must be all, off or top:N, such as top:20"),
    ("n_candidats", 5, "there is no key 'n_candidats': did you mean 'n_candidates'?"),
]


@pytest.mark.parametrize(("key", "value", "sentence"), WRONG)
def test_what_is_wrong_is_one_sentence_with_the_key(
    config: dict[str, Any], key: str, value: object, sentence: str
) -> None:
    config[key] = value
    with pytest.raises(InputError) as caught:
        build.plan(config)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_is_imported_for_a_target_outside(config: dict[str, Any]) -> None:
    config["ranker"] = {"_target_": "this.System"}  # importing `this` would print a poem
    with pytest.raises(InputError, match="parts come from recx"):
        build.plan(config)
    assert "this" not in sys.modules


def test_filters_are_built_by_name_in_their_order() -> None:
    target = {"_target_": "recx.parts.filter.k_core.KCore", "users": 2}
    found = build.filters({"b": target, "a": {"_target_": "recx.parts.filter.repeats.Repeats"}})
    assert list(found) == ["b", "a"]
    assert build.filters(None) == {}
    for config, message in (
        (target, "filter is not a set of filters"),
        ("k_core", "filter is not a set of filters"),
        ({"a": {"_target_": "recx.parts.split.leave_last.LeaveLast"}}, "filter.a: it is not a filter"),
        ({"a": {**target, "usrs": 3}}, "filter.a.usrs: KCore has no such setting: did you mean 'users'"),
    ):
        with pytest.raises(InputError, match=message):
            build.filters(config)

"""The page of metrics lacks none, and every worked example is what recx computes."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference_pages import metrics

import recx
from recx.core.ann_recall import FOUND, NEAREST, ann_recalls
from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation import calibration, definitions
from recx.evaluation.ctr.evaluator import Ctr
from recx.evaluation.drift import Bins, of_counts
from recx.evaluation.funnel import funnel
from recx.evaluation.ground_truth import ANY_GAIN, GroundTruth
from recx.evaluation.metrics.registry import FIGURES, UNCUT, parse
from recx.evaluation.metrics.sampled import SampledMetric
from recx.evaluation.traces import Traces

ALL = [name for group in metrics.groups() for name in group.names]
WORKED = [name for name, about in metrics.ABOUT.items() if "example" in about]
ITEMS = [*"abcdefgh"]
NAMED = [*ITEMS, "none"]
Nested = Mapping[str, Mapping[str, float]]


@cache
def page() -> str:
    return metrics.pages()["metrics"]


def rows(nested: Nested, value: str) -> pd.DataFrame:
    found = [(user, item, number) for user, items in nested.items() for item, number in items.items()]
    return pd.DataFrame(found, columns=["user", "item", value]).astype({value: float})


def items_of(world: Mapping[str, Any]) -> pd.DataFrame | None:
    if "items" in world:
        return pd.DataFrame({"item": world["items"]})
    if "category" in world:
        vectors = [world["embedding"].get(item) for item in ITEMS]
        return pd.DataFrame(
            {"item": ITEMS, "category": [world["category"][item] for item in ITEMS], "embedding": vectors}
        )
    return None


def of_lists(world: Mapping[str, Any], example: str, of: str) -> float:
    """Return a metric of ``recx.evaluate`` on lists, of one user or of all."""
    seen = [(user, item) for user, items in world.get("history", {}).items() for item in items]
    history = pd.DataFrame(seen, columns=["user", "item"]) if seen else None
    ev = recx.evaluate(
        rows(world["lists"], "score"),
        rows(world["grades"], "grade"),
        [example],
        max_grade=world.get("max_grade"),
        history=history,
        items=items_of(world),
    )
    return float(ev.means[example] if of == "all" else ev.per_user.set_index("user")[example][of])


def lists(nested: Nested) -> RankedLists:
    items = [NAMED.index(item) for of in nested.values() for item in of]
    lengths = np.array([len(of) for of in nested.values()], dtype=np.int64)
    scores = np.array([score for of in nested.values() for score in of.values()], dtype=np.float32)
    user = np.arange(len(nested), dtype=np.int32)
    return RankedLists(user, indptr_of(lengths), np.array(items, dtype=np.int32), scores)


def fold(world: Mapping[str, Any]) -> Fold:
    users = list(world["lists"])
    entities = {"users": Entities(np.array(users, dtype=object)), "items": Entities(np.array(NAMED, dtype=object))}
    given = rows(world["grades"], "weight")
    targets = Interactions.from_frame(given[given["weight"] > 0], **entities, order="given")
    nothing = Interactions.from_frame(given[:0], **entities, order="given")
    return Fold(nothing, targets, Requests(np.arange(len(users), dtype=np.int32)))


def of_clicks(world: Mapping[str, Any], example: str, of: str) -> float:
    found = lists(world["lists"])
    report = Ctr(resamples=10).evaluate(found, found, fold(world))
    name = f"end_to_end/{example}"
    if of == "all":
        return report.means[name]
    return float(report.per_user.set_index("user")[name][of])


def of_traces(world: Mapping[str, Any], example: str) -> float:
    table = {name: np.array(world[name], dtype=float) for name in ("input_tokens", "output_tokens", "cost")}
    users = Entities(np.arange(3), {"trace": np.array(world["trace"], dtype=object), **table})
    traces, right = Traces.of(users, np.arange(3, dtype=np.int32)), np.array(world["right"], dtype=float)
    assert traces is not None
    return {"trace_success": float(np.nanmean(traces.success(right))), **traces.numbers(right)}[example]


def of_abstaining(world: Mapping[str, Any], example: str, of: str) -> float:
    stands = {"is_abstain": np.array([name == world["abstain"] for name in NAMED], dtype=np.float32)}
    judged = GroundTruth.of(fold(world), 1.0).judge(lists(world["lists"]))
    found = parse(example)(replace(judged, items=Entities(np.array(NAMED, dtype=object), stands)))
    return float(found if of == "all" else np.asarray(found)[list(world["lists"]).index(of)])


def recomputed(name: str) -> float:
    """Return what recx computes of an example."""
    about = metrics.ABOUT[name]
    example, of, kind = about["example"], about.get("of", "ada"), about.get("world", "lists")
    world = metrics.WORLDS[kind]
    if kind == "traces":
        return of_traces(world, example)
    if kind == "nearest":
        return ann_recalls({NEAREST: world["nearest"], FOUND: world["found"]})[example]
    if kind == "bins":
        reference = Bins(np.array([0.0]), np.array(world["reference"]), 4)
        return of_counts(reference, np.array(world["later"]), 4).psi
    if kind == "funnel":
        truth = GroundTruth.of(fold(world), 1.0)
        found = funnel(truth.judge(lists(world["candidates"])), truth.judge(lists(world["lists"])), [1, 2])
        return float(found[f"funnel/{example}"][0])
    if kind == "abstaining":
        return of_abstaining(world, example, of)
    if name in definitions.CALIBRATION:
        judged = GroundTruth.of(fold(world), ANY_GAIN).judge(lists(world["lists"]))
        return calibration.figures({example.rpartition("_")[2]: judged})[f"calibration/{example}"]
    if name in definitions.CLICKS:
        return of_clicks(world, example, of)
    return of_lists(world, example, of)


def section(name: str, text: str) -> str:
    found = re.search(rf"^### {re.escape(name)}\n(.*?)(?=^##|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def test_every_metric_that_recx_knows_is_there_once_with_its_definition() -> None:
    known = {*definitions.METRICS, *definitions.SAMPLED, *definitions.TRACES, *definitions.CLICKS}
    known |= {*definitions.FUNNEL, *definitions.CALIBRATION, *definitions.DRIFT}
    assert known == set(ALL)
    assert len(ALL) == len(set(ALL))
    assert {name for name in FIGURES if name != "top_accuracy"} <= set(ALL)
    for name in ALL:
        assert metrics.definition(name), name
        assert section(name, page()).strip(), name


def test_every_metric_has_an_example_or_says_why_not() -> None:
    assert set(metrics.ABOUT) == set(ALL)
    without = [name for name in ALL if "Example: " not in section(name, page())]
    assert without == ["calibration_error_by_chance"]
    assert section("map", page().replace("### map\n", "### mapp\n")) == ""  # a section that is missing is found


@pytest.mark.parametrize("name", WORKED)
def test_the_example_is_what_recx_computes(name: str) -> None:
    about = metrics.ABOUT[name]
    value = metrics.worked_out(about["steps"])
    assert recomputed(name) == pytest.approx(value, abs=2e-7)
    shown = "" if about["steps"].isdecimal() else f" = {value:.6g}"
    assert f"= `{about['steps']}`{shown}.\n" in section(name, page())
    bare = re.sub(r"(_at_\d+)?_sampled_\d+", "_sampled_N", re.sub(r"_at_\d+$", "", about["example"]))
    assert bare == name


def test_examples_tell_metrics_apart() -> None:
    """An example whose value most metrics have would show little."""
    values = [round(metrics.worked_out(metrics.ABOUT[name]["steps"]), 6) for name in WORKED]
    assert len(set(values)) > len(WORKED) / 2


def test_a_wrong_step_would_be_found() -> None:
    assert recomputed("map") != pytest.approx(metrics.worked_out("(1/2 + 2/3) / 3"), abs=2e-7)
    assert recomputed("recall") != pytest.approx(recomputed("recall_capped"), abs=2e-7)


@pytest.mark.parametrize("steps", ["__import__('os')", "a + 1", "open(1)", "[1]"])
def test_steps_are_numbers_alone(steps: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        metrics.worked_out(steps)


def test_steps() -> None:
    assert metrics.worked_out("-1/2 + 3*2**2 - min(4, 3)") == 8.5
    assert metrics.worked_out("log2(8) + sqrt(4) + ln(1)") == 5


def test_settings_edges_and_names() -> None:
    text = section("f", page())
    assert "| `beta` | How many times as much recall weighs as precision (f, class\\_f). |" in text.replace(
        "class_f", "class\\_f"
    )
    assert "`beta`" not in section("f2", page())
    assert "It takes no cut." in section("bpref", page())
    assert "It takes no cut." not in section("ndcg", page())
    assert "Lower is better." in section("logloss", page())
    assert "Refused: The history has no events." in section("novelty", page())
    assert "| RecTools | `MAP` | / targets, which is map_trec |" in section("map", page())
    assert "TOIS 2008" in section("rbp", page())
    assert set(ALL) >= UNCUT


def theirs(library: str, name: str, cut: str) -> Mapping[str, float]:
    """Return the values of another library on the lists of the examples, by user."""
    world = metrics.WORLDS["lists"]
    grades = {user: {item: int(grade) for item, grade in of.items()} for user, of in world["grades"].items()}
    scores = {user: {item: float(score) for item, score in of.items()} for user, of in world["lists"].items()}
    if library == "pytrec_eval":
        import pytrec_eval

        measure = f"{name}.{cut}" if cut and name != "bpref" else name
        found = pytrec_eval.RelevanceEvaluator(grades, {measure}).evaluate(scores)
        return {user: float(next(iter(of.values()))) for user, of in found.items()}
    import ranx

    run = ranx.Run(scores)
    ranx.evaluate(ranx.Qrels(grades), run, f"{name}@{cut}" if cut else name, make_comparable=True)
    [values] = run.scores.values()
    return {user: float(value) for user, value in values.items()}


OTHERS = [
    (library, name)
    for name in WORKED
    for library, called in metrics.ABOUT[name].get("elsewhere", {}).items()
    if library in ("ranx", "pytrec_eval") and "differs" not in called and metrics.ABOUT[name].get("of") != "all"
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of libraries
@pytest.mark.parametrize(("library", "name"), OTHERS)
def test_another_library_computes_the_same_under_its_name(library: str, name: str) -> None:
    about = metrics.ABOUT[name]
    cut = about["example"].partition("_at_")[2]
    value = theirs(library, about["elsewhere"][library], cut)["ada"]
    assert value == pytest.approx(metrics.worked_out(about["steps"]), abs=1e-6)


OF_SKLEARN = [
    name
    for name in WORKED
    if "scikit-learn" in metrics.ABOUT[name].get("elsewhere", {}) and metrics.ABOUT[name].get("of")
]


@pytest.mark.parametrize("name", OF_SKLEARN)
def test_scikit_learn_computes_the_same_under_its_name(name: str) -> None:
    from sklearn import metrics as sklearn_metrics

    about, world = metrics.ABOUT[name], metrics.WORLDS["lists"]
    call = ast.parse(about["elsewhere"]["scikit-learn"], mode="eval").body
    assert isinstance(call, ast.Name | ast.Call)
    function = call if isinstance(call, ast.Name) else call.func
    settings = {} if isinstance(call, ast.Name) else {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    shown = [(user, item, p) for user, of in world["lists"].items() for item, p in of.items()]
    y = np.array([world["grades"][user].get(item, 0) > 0 for user, item, _ in shown], dtype=int)
    p = np.array([p for *_, p in shown])
    whole = name in ("auc_pooled", "logloss", "average_precision")
    assert isinstance(function, ast.Name)
    value = getattr(sklearn_metrics, function.id)(y, p if whole else p >= 0.5, **settings)
    assert value == pytest.approx(metrics.worked_out(about["steps"]))


def test_another_sampled_rank_has_another_value() -> None:
    assert SampledMetric("hit", 1, 1, corrected=True).name == metrics.ABOUT["hit_sampled_N_corrected"]["example"]

"""Every metric: definition, worked example, edges, and its names in other libraries.

Definitions come from recx/evaluation/definitions.toml, settings and errors from the functions, the rest from
metrics.toml.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from recx.core.metric_names import lower_is_better
from recx.evaluation import definitions
from recx.evaluation.metrics import (
    answering,
    beyond_accuracy,
    bpref,
    classification,
    miscalibration,
    other_ndcg,
    popularity_bias,
    ranking,
    registry,
    stopping,
)
from reference_pages.classes import attributes, paragraphs
from reference_pages.markdown import code, docstring, prose, table

PAGE = "metrics"
TEXTS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
WORLDS, ABOUT = TEXTS["worlds"], TEXTS["metrics"]

ANY_STAGE = (
    "In any stage (`evaluator.retrieval`, `.ranking`, `.end_to_end`), in `recx.evaluate` and in "
    "`python -m recx evaluate`."
)


@dataclass(frozen=True)
class Group:
    """Metrics of one kind.

    Attributes:
        title: Of their section.
        where: Where they are computed.
        names: Their names without a cut.
    """

    title: str
    where: str
    names: tuple[str, ...]


def groups() -> tuple[Group, ...]:
    """Return all metrics that recx knows, by kind."""
    modules = {
        "Ranking": ranking,
        "NDCG of other libraries": other_ndcg,
        "Readers who stop": stopping,
        "Incomplete judgements": bpref,
        "Scores of all rows": classification,
        "Beyond accuracy": beyond_accuracy,
        "Popularity bias": popularity_bias,
        "Calibration of categories": miscalibration,
        "Answering and abstaining": answering,
    }
    found = []
    for title, module in modules.items():
        names = [name for name in module.FIGURES if name != "top_accuracy"]
        names += ["top_1_accuracy", "top_3_accuracy"] if module is ranking else []
        found.append(Group(title, ANY_STAGE, tuple(names)))
    return (
        *found,
        Group("Sampled items", ANY_STAGE, tuple(definitions.SAMPLED)),
        Group(
            "Whole traces",
            "Of `end_to_end/`, without being asked for, where the users' table has a column `trace`.",
            tuple(definitions.TRACES),
        ),
        Group("Predicted clicks", "Of `end_to_end/`, all of them with `evaluator=ctr`.", tuple(definitions.CLICKS)),
        Group(
            "Funnel",
            "Of `funnel/`, and `ann_recall` of `retrieval/`, without being asked for, at the cuts of the others.",
            tuple(definitions.FUNNEL),
        ),
        Group(
            "Calibration of a ranker",
            "Of `calibration/`, where the ranker calibrates its scores, such as `ranker.probabilities=platt`.",
            tuple(definitions.CALIBRATION),
        ),
        Group("Drift", "Of `python -m recx replay`, by feature, score and the like.", tuple(definitions.DRIFT)),
    )


def pages() -> dict[str, str]:
    """Return the page."""
    parts = [
        "# Metrics\n",
        f"{INTRO}\n",
        "## The data of the examples\n",
        _world("lists"),
        "## What holds for all\n",
        EDGES,
    ]
    for group in groups():
        worlds = dict.fromkeys(ABOUT.get(name, {}).get("world", "lists") for name in group.names)
        parts += [f"## {group.title}\n", f"{group.where}\n", *(_world(one) for one in worlds if one != "lists")]
        parts += [_metric(name) for name in group.names]
    return {PAGE: "\n".join(parts)}


INTRO = (
    "A metric is asked for by name, with its cut: `ndcg_at_10` looks at the first 10 items of each list, `ndcg` at all "
    "of it. `python -m recx list metric` shows the definitions in the terminal; in Python `recx.metric` makes a metric "
    "with settings of its own. A value is that of one user and the figure the mean over users, unless it is one number."
)
EDGES = (
    "- A target is an item of grade 1 or more (`rel_threshold`); its gain is its grade or weight. Graded metrics "
    "(`cg`, `dcg`, `ndcg` and the like) use every gain above 0, the others whether an item is a target.\n"
    "- A user without a target is left out, and counted. In `ranking/` only targets among the candidates count.\n"
    "- A user with targets and without a list, or with an empty one, scores 0, and is counted.\n"
    "- A list that is shorter than k is judged as if items that are no targets followed.\n"
    "- Equal scores keep the order in which they were given; ties across a cut are counted.\n"
    "- A cut above `n_candidates` is not reported.\n"
)


def _world(name: str) -> str:
    """Return the data of the examples of a world."""
    world = WORLDS[name]
    rows = [(code(key), code(_written(value))) for key, value in world.items() if key != "about"]
    return f"{prose(world['about'])}\n\n{table(('data of the examples', 'values'), rows)}"


def _written(value: Any) -> str:
    """Return data as it is read: ``ada: a 0.9, b 0.8; bob: c 0.7``."""
    if isinstance(value, dict):
        inner = [(key, one) for key, one in value.items()]
        if all(isinstance(one, dict | list) for _, one in inner):
            return "; ".join(f"{key}: {_written(one)}" for key, one in inner)
        return ", ".join(f"{key} {one}" for key, one in inner)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _metric(name: str) -> str:
    about, function = ABOUT.get(name, {}), registry.FIGURES.get(name)
    text = definition(name)
    of_another = re.split(r"_at_|\W", text)[0] in registry.FIGURES  # whose name is not to be changed
    parts = [f"### {name}\n", f"{prose(text if of_another else text[:1].upper() + text[1:])}.\n"]
    if function is not None and not isinstance(function, partial):
        parts += map(docstring, said(function))
    if "example" in about:
        steps = about["steps"]
        value = "" if steps.isdecimal() else f" = {worked_out(steps):.6g}"
        of = "" if about.get("of") == "all" else f" of {about.get('of', 'ada')}"
        parts.append(f"Example: {code(about['example'])}{of} = {code(steps)}{value}.\n")
    notes = [about["cases"]] if "cases" in about else []
    notes += [f"Refused: {text}" for text in refused(function)]
    notes += ["It takes no cut."] if name in registry.UNCUT else []
    notes += ["Lower is better."] if lower_is_better(f"end_to_end/{name}") else []
    if notes:
        parts.append(f"{prose(' '.join(notes))}\n")
    settings = params(function)
    if settings:
        rows = [(code(key), prose(of)) for key, of in settings.items()]
        parts.append(table(("setting", "meaning"), rows))
    if "elsewhere" in about:
        names = [(library, *_elsewhere(called)) for library, called in about["elsewhere"].items()]
        parts.append(table(("library", "name", "differs"), names))
    return "\n".join(parts)


def _elsewhere(called: str) -> tuple[str, str]:
    name, _, how = called.partition("; differs: ")
    return code(name), prose(how)


def definition(name: str) -> str:
    """Return the definition of a metric by its name without a cut."""
    return definitions.definition(name) or definitions.DRIFT.get(name, "") or definitions.SAMPLED.get(name, "")


def said(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return what a figure's docstring says beyond its definition: the first paragraph only where it cites."""
    found = paragraphs(function.__doc__ or "")
    return found if found and re.search(r"\b(19|20)\d\d\b", found[0]) else found[1:]


def refused(function: Callable[..., Any] | None) -> list[str]:
    """Return when a figure raises InputError."""
    inner = function.func if isinstance(function, partial) else function
    _, _, section = inspect.cleandoc((inner.__doc__ if inner else None) or "").partition("Raises:\n")
    return [" ".join(text.split()) for text in re.findall(r"InputError: (.*)", section, flags=re.DOTALL)]


def params(function: Callable[..., Any] | None) -> dict[str, str]:
    """Return the settings of a figure: name -> meaning, those of ``recx.metric`` that it takes."""
    if function is None:
        return {}
    fixed = function.keywords if isinstance(function, partial) else {}
    taken = [name for name in registry.PARAMS if name in inspect.signature(function).parameters and name not in fixed]
    meanings = attributes(registry.NamedMetric.__doc__ or "")
    return {name: meanings[name] for name in taken}


FUNCTIONS: Mapping[str, Callable[..., float]] = {"ln": math.log, "log2": math.log2, "sqrt": math.sqrt, "min": min}
OPERATORS: Mapping[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}


def worked_out(steps: str) -> float:
    """Return the value of an example's steps, which are numbers, + - * / **, ln, log2, sqrt and min."""
    return _value(ast.parse(steps, mode="eval").body)


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](_value(node.operand))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return FUNCTIONS[node.func.id](*map(_value, node.args))
    raise ValueError(f"an example has steps of numbers, not {ast.unparse(node)}")

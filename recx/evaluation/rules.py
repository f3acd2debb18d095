"""The rules behind all figures, and which rules of a protocol card must agree for runs to be comparable."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from recx.config.factory import moved
from recx.core.metric_names import split_name
from recx.core.system.serialize import flat
from recx.evaluation.definitions import definition

TIES = "equal scores keep the order in which the items were given (stable descending sort)"
MEAN = "over every user with a target on the line; a user without a list scores 0"
"""Both texts are stored with every run and compared between runs: changing a word makes old runs differ from new."""

OF_FIGURES = {"sampled": ".*_sampled_.*", "max_grade": "err|err_log|cascade", "threshold": "accuracy|class_.*"}
"""Rule -> which built-in figures, without stage and cut, depend on it (a pattern)."""
OF_METRIC = "metrics."
"""What the rules of a single metric begin with, before its name."""


def rules(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules of a protocol card that must agree where runs are compared.

    These are all but the counts of what happened, the choice of figures, and what follows from the data and the split.
    """
    left_out = (
        "definitions",
        "held_out",
        "doctor",
        "made_up",
        "notes",
        "context",
        "made_elsewhere",
        "requests_in_a_block",
        "source",
    )
    kept = {name: rule for name, rule in card.items() if name not in left_out}
    # Where sampled metrics are among the figures, "sampled" says how their items are drawn.
    figures = ("retrieval", "ranking", "end_to_end", "tables", "negatives", "negatives_seed")
    evaluator = {name: rule for name, rule in card.get("evaluator", {}).items() if name not in figures}
    users = {name: card.get("users", {}).get(name) for name in ("known", "asked", "judged")}
    current: dict[str, Any] = _current({**kept, "users": users, "evaluator": evaluator})
    return current


def differing(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], figures: Collection[str]
) -> dict[str, tuple[str, str]]:
    """Return the rules that differ between two runs and concern figures that both have: flat name -> both, as texts.

    A run that has metrics of sampled items besides those over all items has the same rules for the latter.

    Args:
        ours: The rules of one run (see ``rules``).
        theirs: Those of the other one.
        figures: The figures that both have.
    """
    one, other = flat(ours), flat(theirs)
    pairs = {name: (one.get(name, "nothing"), other.get(name, "nothing")) for name in {**one, **other}}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1] and _concerns(name, figures)}


def _concerns(rule: str, figures: Collection[str]) -> bool:
    """Return whether a rule concerns any of these figures; of a figure that recx does not define, most may."""
    if rule.startswith(OF_METRIC):
        metric = rule.removeprefix(OF_METRIC)
        return any(name == metric or metric.startswith(f"{name}.") for name in figures)
    pattern = OF_FIGURES.get(rule.removeprefix("evaluator."))
    if pattern is None:
        return True
    bare = {split_name(name)[1] for name in figures} - {"users"}  # their number, which is no metric
    unknown = rule != "sampled" and not all(map(definition, bare))
    return unknown or any(re.fullmatch(pattern, name) for name in bare)


def _current(rule: Any) -> Any:
    """Return a rule with the paths that classes have now, so that an older run differs by no move of a module."""
    if isinstance(rule, Mapping):
        return {name: _current(inner) for name, inner in rule.items()}
    return (moved(rule) or rule) if isinstance(rule, str) else rule

"""The rules behind all figures, and which rules of a protocol card must agree for runs to be comparable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recx.config.factory import moved

TIES = "equal scores keep the order in which the items were given (stable descending sort)"
MEAN = "over every user with a target on the line; a user without a list scores 0"
"""Both texts are stored with every run and compared between runs: changing a word makes old runs differ from new."""


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


def _current(rule: Any) -> Any:
    """Return a rule with the paths that classes have now, so that an older run differs by no move of a module."""
    if isinstance(rule, Mapping):
        return {name: _current(inner) for name, inner in rule.items()}
    return (moved(rule) or rule) if isinstance(rule, str) else rule

"""What was run: the command, the data, the protocol, the versions, and what every stage took."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from recx.core.project import current
from recx.core.secrets import hidden_in, hidden_override
from recx.core.system.git import git_state
from recx.core.system.serialize import flat
from recx.experiment.experiment import Result

APART = ("definitions", "doctor", "notes", "versions")
"""Entries of the protocol card that the page shows elsewhere, or not at all."""
STAGES = ("load", "split", "fit_retriever", "retrieve", "fit_ranker", "rank", "evaluate")


def run_data(result: Result, config: Mapping[str, Any], card: Mapping[str, Any]) -> dict[str, Any]:
    """Return when and by which command the run was made, its data, settings and protocol, and what it took."""
    counts = {name.removeprefix("data/"): count for name, count in result.metrics.items() if name.startswith("data/")}
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "words": words(),
        "fold": card.get("fold", result.experiment.fold),
        "counts": {name: count for name, count in counts.items() if count},
        **under(config, card),
        "git": git_state(),
        "stages": _stages(result),
    }


def under(config: Mapping[str, Any], card: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the settings, the protocol and the versions of a run as flat tables."""
    ranker = config.get("ranker")
    repeated = isinstance(ranker, Mapping) and "features" in ranker  # the ranker's settings contain the features
    return {
        "config": flat(
            {name: chosen for name, chosen in hidden_in(config).items() if name != "feature" or not repeated}
        ),
        "protocol": flat({name: rule for name, rule in card.items() if name not in APART}),
        "versions": dict(card.get("versions", {})),
    }


def words() -> list[str]:
    """Return the overrides that this run was composed from, without those of Hydra's own settings."""
    return [
        hidden_override(override)
        for override in current().overrides
        if not override.lstrip("+~").startswith(("hydra.", "hydra/"))
    ]


def _stages(result: Result) -> list[dict[str, Any]]:
    """Return one row per stage; ``cached`` counts the passes that came from the stage cache (None without one)."""
    return [
        {
            "stage": stage,
            "seconds": result.seconds[stage],
            "peak": result.peaks.get(stage),
            "passes": result.passes.get(stage, 1),
            "cached": None if result.hits is None or stage == "total" else result.hits.get(stage, 0),
        }
        for stage in sorted(result.seconds, key=[*STAGES, *result.seconds].index)
    ]

"""What was run: the words, the data, the rules, the versions, and what every stage took."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from recx.core.system.git import git_state
from recx.core.system.serialize import flat
from recx.experiment.experiment import Result

APART = ("definitions", "doctor", "notes", "versions")
"""What of the protocol card the page shows in other places, or not at all."""
STAGES = ("load", "split", "fit_retriever", "retrieve", "fit_ranker", "rank", "evaluate")


def story_of_the_run(result: Result, config: Mapping[str, Any], card: Mapping[str, Any]) -> dict[str, Any]:
    """Return when, by which words and on which data it was run, under which rules, and what it took."""
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
    """Return under which settings, rules and versions it was run."""
    settings = {stage: chosen for stage, chosen in config.items() if stage != "feature" or not _repeated(config)}
    return {
        "config": flat(settings),
        "protocol": flat({name: rule for name, rule in card.items() if name not in APART}),
        "versions": dict(card.get("versions", {})),
    }


def _repeated(config: Mapping[str, Any]) -> bool:
    """Whether the ranker's settings hold the features once more."""
    ranker = config.get("ranker")
    return isinstance(ranker, Mapping) and "features" in ranker


def words() -> list[str]:
    """Return the words of the command line that Hydra composed this run from; [] for a run from Python."""
    if "hydra" not in sys.modules:
        return []
    from hydra.core.hydra_config import HydraConfig

    return [str(word) for word in HydraConfig.get().overrides.task] if HydraConfig.initialized() else []


def _stages(result: Result) -> list[dict[str, Any]]:
    """Return seconds, memory, passes and how many of these the stage cache gave (None: no cache) of every stage."""
    return [
        {
            "stage": stage,
            "seconds": seconds,
            "peak": result.peaks.get(stage),
            "passes": result.passes.get(stage, 1),
            "cached": None if result.hits is None or stage == "total" else result.hits.get(stage, 0),
        }
        for stage, seconds in sorted(result.seconds.items(), key=_place)
    ]


def _place(entry: tuple[str, float]) -> int:
    return STAGES.index(entry[0]) if entry[0] in STAGES else len(STAGES)

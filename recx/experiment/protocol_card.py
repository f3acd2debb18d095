"""The protocol card: the rules under which a run was evaluated (``protocol.json``; trackers get its hash).

Two runs can be compared where their cards agree.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.notes import MADE_UP
from recx.core.protocols import retrieves_slates
from recx.core.system.serialize import plain, settings
from recx.core.types import Array, Fold, Interactions
from recx.core.version import __version__
from recx.evaluation.definitions import definition
from recx.evaluation.ground_truth import GroundTruth
from recx.evaluation.rules import MEAN, TIES, rules
from recx.experiment import card_facts
from recx.experiment.blocks import REQUESTS
from recx.experiment.doctor import counts
from recx.parts.split.folds import later_events
from recx.storage.cache.keys import update

if TYPE_CHECKING:
    from recx.experiment.experiment import Result

FULL = "full: every item that the retriever may show competes; no sampled negatives"
SLATES = "slates: the lists that the data itself offers compete, shuffled by seed and user"
MADE_UP_DATA = "the data is made up by a generator: figures say nothing about real data"
SEARCHED = (
    "slates: the lists that the data itself offers compete, in the order of its scores or ranks; equal ones are "
    "shuffled by seed and user"
)


def card(result: Result, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the protocol card of a run, as plain values.

    Args:
        result: The run. Settings are read from its parts.
        config: The composed configuration, of which ``seen`` and ``seed`` are shown; {} for an experiment that was
            built in Python.
    """
    experiment, split, report = result.experiment, result.split, result.report
    users = {name: count for name, count in result.notes.items() if name.startswith("users_")}
    slates, refit = retrieves_slates(experiment.retriever), experiment.refit or split.past is None
    fitted_on = split.fold.learnable if refit or split.past is None else split.past.learnable
    later = later_events(fitted_on, split.fold)
    loaded = card_facts.loaded(experiment)
    filters = card_facts.filters(result)
    apart = card_facts.seeds_apart(experiment, config.get("seed"))
    return {
        "fold": experiment.fold,
        **({"made_up": MADE_UP_DATA} if MADE_UP in result.interactions.notes else {}),
        **({"filters": filters} if filters else {}),
        "split": settings(experiment.splitter),
        **card_facts.held_out(experiment.splitter),
        "steps": {"past": _step(split.past), "fold": _step(split.fold)},
        "users": {
            "known": result.interactions.n_users,
            "asked": len(split.fold.requests),
            "judged": None if report is None else len(report.users),
            "judged_without_list": users.pop("users_without_list", 0),
            "left_out": users,
        },
        "items": result.interactions.n_items,
        "seen": card_facts.seen_rule(result),
        "seed": config.get("seed"),
        **({"seeds_apart": apart} if apart else {}),
        "n_candidates": None if slates else experiment.n_candidates,
        "refit": refit,
        "requests_in_a_block": min(experiment.at_once or REQUESTS, len(split.fold.requests)),
        "ties": TIES,
        "ranking": _ranking(result, slates),
        "mean": MEAN,
        "evaluator": settings(experiment.evaluator),
        **_sampled(experiment.evaluator, () if report is None else report.means),
        "definitions": _definitions(() if report is None else report.means),
        "later_events": None if later is None else plain(later[0]),
        "context": card_facts.context(split.fold),
        **({"loaded": loaded} if loaded else {}),
        "made_elsewhere": card_facts.made_elsewhere(result.interactions),
        "doctor": plain(counts(result.findings)),
        "data_hash": data_hash(result.interactions),
        **card_facts.source(config),
        **({} if report is None else {"truth": GroundTruth.for_evaluator(experiment.evaluator, split.fold).digest()}),
        "versions": versions(),
        "notes": plain(result.notes),
    }


def tags(card: Mapping[str, Any]) -> dict[str, str]:
    """Return the hashes by which a tracker finds runs of the same rules and of the same data.

    ``recx.protocol`` is of what must be the same for two runs to be comparable (see ``recx.evaluation.rules``).
    """
    content = json.dumps(plain(rules(card)), sort_keys=True).encode()
    protocol = hashlib.blake2b(content, digest_size=16).hexdigest()
    made_up = {"recx.made_up": str(card["made_up"])} if "made_up" in card else {}
    return {"recx.protocol": protocol, "recx.data": str(card["data_hash"]), **made_up}


def data_hash(interactions: Interactions) -> str:
    """Return 32 hex digits of blake2b over the events, slates, ids and everything that is known of users and items."""
    digest = hashlib.blake2b(digest_size=16)
    for content in _content(interactions):
        if isinstance(content, str):
            digest.update(content.encode())
        else:
            update(digest, content)
    return digest.hexdigest()


def _content(data: Interactions) -> Iterator[Array | str | None]:
    yield from (data.indptr, data.item, data.time, data.weight)
    for entities in (data.users, data.items):
        yield from (entities.ids, *_named(entities.table), entities.embedding)
        for name, lists in sorted(entities.lists.items()):
            yield from (name, lists.indptr, lists.code)
        if (graphs := entities.graphs) is not None:
            yield from (graphs.node_indptr, graphs.tool, graphs.edge_indptr, graphs.edge, graphs.tools, graphs.texts)
    if (slates := data.slates) is not None:
        yield from (slates.user, slates.indptr, slates.item, *_named(slates.columns))
        if slates.score.any():
            yield slates.score
    yield data.to_predict
    if data.given_fold is not None:
        yield data.given_fold


def _named(columns: Mapping[str, Array]) -> Iterator[Array | str]:
    return chain.from_iterable(sorted(columns.items()))


def versions() -> dict[str, str]:
    """Return the versions of Python, recx and the libraries that results may depend on."""
    names = ("numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "faiss-cpu", "hydra-core", "mlflow")
    return {"recx": __version__, "python": platform.python_version(), **{name: _version(name) for name in names}}


def _version(package: str) -> str:
    """Return the version of an installed package, or ``not installed``."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _ranking(result: Result, slates: bool) -> str:
    """Return which items compete."""
    allowed = result.split.fold.requests.allowed
    if slates:
        return SEARCHED if result.candidates.score.any() else SLATES
    if allowed is None:
        return FULL
    return f"the items that the split allows compete, {int(allowed.sum()):,} of {len(allowed):,}; no sampled negatives"


def _sampled(evaluator: object, metrics: Iterable[str]) -> dict[str, str]:
    """Return where the items of sampled metrics come from; {} if there are no such metrics."""
    if not any("_sampled_" in name for name in metrics):
        return {}
    draw, seed = getattr(evaluator, "negatives", "given"), getattr(evaluator, "negatives_seed", 0)
    drawn = "that the lists hold" if draw == "given" else f"drawn for each request ({draw}, seed {seed})"
    return {
        "sampled": f"metrics named _sampled_N rank the target among itself and N items {drawn}: never comparable with "
        "metrics over all items, nor with those of another N or draw"
    }


def _step(fold: Fold | None) -> dict[str, Any] | None:
    if fold is None:
        return None
    time = fold.requests.time
    return {
        "history_events": len(fold.history),
        "requests": len(fold.requests),
        "targets": None if fold.target is None else len(fold.target),
        "first_request": _moment(time.min()) if time is not None and len(time) else None,
        "last_request": _moment(time.max()) if time is not None and len(time) else None,
    }


def _moment(milliseconds: np.int64) -> str:
    try:
        return datetime.fromtimestamp(int(milliseconds) / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):  # outside the years 1 to 9999
        return f"{int(milliseconds)} ms"


def _definitions(metrics: Mapping[str, float] | tuple[()]) -> dict[str, str]:
    """Return the definition of each reported metric, by its name without stage and ``_at_k``."""
    bare = {re.sub(r"_at_\d+$", "", name.rpartition("/")[2]) for name in metrics}
    return {name: definition(name) for name in sorted(bare) if definition(name)}

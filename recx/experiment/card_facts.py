"""What the protocol card says of a chain beyond its settings, read from the lists, the folds and all parts in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.filters import removed_by
from recx.core.own_items import in_history
from recx.core.protocols import Loading, Seen, Splitter, ignores_time
from recx.core.ragged import blocks_of_groups
from recx.core.seen_events import UNKNOWN_EVENTS
from recx.core.system.serialize import plain, settings
from recx.core.types import Fold, Interactions
from recx.parts.split.folds import after_last_event
from recx.storage.cache.keys import parts_of
from recx.storage.readers.in_memory import is_in_memory

if TYPE_CHECKING:
    from recx.experiment.experiment import Experiment, Result

ROWS = 1 << 22
"""Rows of lists that are looked at together."""
STAGES = ("dataset", "splitter", "retriever", "ranker")
LEAKS_TIME = "events are held out whenever they happened: what came after a target is known, of its own user too"
OF_TARGET, OF_LAST_EVENT = "when the first target happened", "1 ms after the last event that is known"
OF_END = "1 ms after the last event of all that is known"
OF_SPLITTER, NO_TIMES = "set by the splitter", "none: requests follow all history"
OWN, OF_FIRST_EVENT = "the user's own", "of the user's first event; unknown where that is held out"


def filters(result: Result) -> list[dict[str, Any]]:
    """Return the filters in their order, each with its settings and the numbers of what it removed."""
    return [
        {"filter": name, **settings(part), "removed": removed_by(result.interactions, name)}
        for name, part in result.experiment.filters.items()
    ]


def seen_rule(result: Result) -> Seen:
    """Return ``drop`` if every retriever drops what the user has clicked and no list has such an item, else ``keep``.

    A retriever without the setting ``seen`` is taken at its lists.
    """
    rules, lists = {getattr(part, "seen", "drop") for part in parts_of(result.experiment.retriever)}, result.candidates
    if "keep" in rules:
        return "keep"
    blocks = (lists[start:stop] for start, stop in blocks_of_groups(lists.indptr, ROWS))
    history = result.split.fold.history
    known = any(in_history(some.user, some.indptr, some.item, history).any() for some in blocks)
    return "keep" if known else "drop"


def seeds_apart(experiment: Experiment, seed: int | None) -> dict[str, int]:
    """Return the seeds of parts that differ from that of the run, by where they are set; not that of made-up data."""
    named = {stage: settings(getattr(experiment, stage)) for stage in STAGES if stage != "dataset"}
    return {name: found for name, found in _seeds(named) if found != seed}


def _seeds(nested: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, value in nested.items():
        if isinstance(value, Mapping):
            yield from _seeds(value, f"{prefix}{name}.")
        elif name == "seed" and isinstance(value, int):
            yield f"{prefix}{name}", value


def context(fold: Fold) -> dict[str, Any]:
    """Return where what is known of a request comes from: its time, and the columns of the users' table."""
    users = fold.history.users
    return {
        "time": _time(fold),
        "users": {name: OF_FIRST_EVENT if name in users.context else OWN for name in users.table},
    }


def _time(fold: Fold) -> str:
    time, target = fold.requests.time, fold.target
    if time is None:
        return NO_TIMES
    if (
        target is not None
        and target.time is not None
        and np.array_equal(time, target.time[target.indptr[fold.requests.user]])
    ):
        return OF_TARGET
    known = fold.history.time
    if known is None:
        return OF_SPLITTER
    if np.array_equal(time, after_last_event(fold.history, fold.requests.user)):
        return OF_LAST_EVENT
    return OF_END if (time == known.max(initial=0) + 1).all() else OF_SPLITTER


def held_out(splitter: Splitter) -> dict[str, str]:
    """Return what a split holds out, as its class says in its first paragraph, and whether that leaks time."""
    paragraph = (type(splitter).__doc__ or "").partition("\n\n")[0]
    said = {"held_out": " ".join(paragraph.replace("``", "").split())} if paragraph else {}
    return {**said, **({"leaks_time": LEAKS_TIME} if ignores_time(splitter) else {})}


def loaded(experiment: Experiment) -> dict[str, Any]:
    """Return what parts of the chain load that was made elsewhere: stage -> what each of them says of it."""
    found: dict[str, Any] = {}
    for stage in STAGES:
        said = [plain(part.loaded) for part in parts_of(getattr(experiment, stage)) if isinstance(part, Loading)]
        distinct = [one for place, one in enumerate(said) if one and one not in said[:place]]
        if distinct:
            found[stage] = distinct[0] if len(distinct) == 1 else distinct
    return found


def source(config: Mapping[str, Any]) -> dict[str, str]:
    """Return what the data was read from, if it was a data frame in memory, whose name no path on a disk shows."""
    dataset = config.get("dataset")
    path = dataset.get("path") if isinstance(dataset, Mapping) else None
    return {"source": str(path)} if is_in_memory(path) else {}


def made_elsewhere(interactions: Interactions) -> dict[str, str]:
    """Return what the data holds besides events that somebody may have made from later events."""
    there = {
        "embeddings of users": interactions.users.embedding is not None,
        "embeddings of items": interactions.items.embedding is not None,
        "slates": interactions.slates is not None,
    }
    return {name: UNKNOWN_EVENTS for name, known in there.items() if known}

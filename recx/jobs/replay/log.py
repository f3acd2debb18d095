"""The log that goes on: the events that a run has read, and after them those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.protocols import retrieves_slates
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, Longs
from recx.experiment.experiment import Experiment
from recx.experiment.loading import load
from recx.experiment.model.asking import Population
from recx.experiment.model.counted import last_time
from recx.experiment.model.model import Model
from recx.experiment.model.population import numbers_of, with_unknown
from recx.experiment.model.until import fitted_until
from recx.jobs.predict.files import all_alike, table_of_events
from recx.parts.dataset.table import Table


@dataclass(frozen=True, eq=False)
class Log:
    """All events, those that the chain has learned from and those after them.

    Attributes:
        events: The events, with the chain's items first and, after them, those that it does not know.
        items: The chain's items.
        until: The time in ms before which the chain has learned.
        notes: What was left out or is not as in the run, in sentences.
    """

    events: Interactions
    items: Entities
    until: int
    notes: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        """1 ms after the last event."""
        return last_time(self.events) + 1


def read(model: Model, experiment: Experiment, path: Path) -> Log:
    """Return the run's events, where they are at hand, and after the last of them those of a file.

    Args:
        model: The model of the run.
        experiment: The run's chain, as its configuration says.
        path: The file, in the form of the run's data: read with the settings of its dataset and its filters.

    Raises:
        InputError: The file cannot be used, has no event after the fit, or nothing is known of the time before it.
    """
    kept = model.kept
    if retrieves_slates(kept.chain.retriever):
        raise InputError(
            f"{kept.folder}: its chain ranks the lists that the data offers, and a replay asks for lists of all items: "
            "use a run with another retriever than given"
        )
    known, missing = _known(model)
    if known is not None and known.time is None:
        raise InputError(f"{kept.folder}: the run's data has no times, so no event is later than the fit")
    log = _loaded(path, experiment, kept.card)
    if log.time is None:
        raise InputError(
            f"--log {path}: its events have no times, by which it is cut into windows: name the column that has them "
            "as the run's data does (dataset.time)"
        )
    until, first = _until(model, experiment, known), int(log.time.min(initial=np.iinfo(np.int64).max))
    notes = [f"the run's own events are not here, so that all come from the log: {missing}"] if missing else []
    base = Population.of_nobody(kept.chain, log).history if known is None else known
    if known is not None:
        new = np.asarray(log.time > last_time(known))
        if not new.all():
            notes.append(
                f"{int((~new).sum()):,} events of the log are left out: the run has read all up to its last one"
            )
        log = log.keep(new)
    elif first >= until:
        raise InputError(
            f"--log {path}: no event lies before the fit's end ({_moment(until)}), and those of the run are not here "
            f"({missing}): give the whole log, or keep the events with the model (model=full)"
        )
    events = _joined(base, log, str(path))
    if last_time(events) < until:
        raise InputError(
            f"--log {path}: no event is later than the fit, which ends at {_moment(until)} (the last is of "
            f"{_moment(last_time(events))}): give a log that goes on after it"
        )
    assert events.time is not None
    if not (events.item[events.time >= until] < len(base.items)).any():
        raise InputError(
            f"--log {path}: the chain knows none of the items that are clicked after its fit (such as "
            f"{events.items.ids[-1]}): give a log with the ids of the run's data"
        )
    if filters := list(experiment.filters):
        notes.append(f"the run's filters ({', '.join(filters)}) have been applied to the log on its own")
    return Log(events, base.items, until, tuple(notes))


def _known(model: Model) -> tuple[Interactions | None, str]:
    """Return the events that the run has read, or why they are not here."""
    try:
        return model.known.history, ""
    except InputError as error:
        return None, str(error)


def _until(model: Model, experiment: Experiment, known: Interactions | None) -> int:
    until: int | None = model.kept.about["until"]
    if until is None and known is not None:
        until = fitted_until(known, experiment.splitter, experiment.fold)
    if until is None:
        raise InputError(
            f"{model.kept.folder}: this model does not say until when it has learned, as those of older versions, and "
            "its data is not here: run the experiment again"
        )
    return until


def _loaded(path: Path, experiment: Experiment, card: Mapping[str, Any]) -> Interactions:
    """Return the filtered events of a file or, for a dataset that reads folders, of a folder."""
    dataset: Any = experiment.dataset
    named = any(one.name == "path" for one in fields(dataset))
    try:
        if path.is_dir() and named and not isinstance(dataset, Table):
            dataset = replace(dataset, path=str(path))
        else:
            dataset = table_of_events(path, dataset, card, "--log")
        return load(dataset, experiment.filters).unnamed()
    except InputError as error:
        raise InputError(f"--log: {error}   (it is read with the settings of the run's dataset)") from error


def _joined(base: Interactions, later: Interactions, where: str) -> Interactions:
    """Return events and, after them, later ones; users and items that are new come last.

    Users whose targets the run does not know (``to_predict``) are like others once they have a later event.
    """
    assert base.time is not None
    assert later.time is not None
    users, user = _numbered(base.users, later.users, later.user, where, "user")
    items, item = _numbered(base.items, later.items, later.item, where, "item")
    owner = np.concatenate([base.user, user])
    order = np.argsort(owner, kind="stable")  # each user's are in the order of time in both, and one is after the other

    def joined(old: Array, new: Array) -> Array:
        return np.concatenate([old, new])[order]

    return Interactions(
        indptr=indptr_of(np.bincount(owner, minlength=len(users))),
        item=joined(base.item, item.astype(np.int32)),
        time=joined(base.time, later.time),
        weight=joined(base.weight, later.weight),
        users=users,
        items=items,
        to_predict=None if base.to_predict is None else np.setdiff1d(base.to_predict, user).astype(np.int32),
    )


def _numbered(known: Entities, others: Entities, of_events: Array, where: str, what: str) -> tuple[Entities, Longs]:
    """Return all entities, and the number of that of each event [n]; those without events stay unknown."""
    used = np.unique(of_events)
    ids = all_alike(others.ids[used], known, f"--log {where}", what).ids
    number = np.full(len(others), -1, dtype=np.int64)
    number[used] = numbers_of(ids, known, f"{what}s")
    new = used[number[used] < 0]
    if not len(new):
        return known, number[of_events]
    place = np.searchsorted(used, new)
    number[new] = len(known) + np.arange(len(new))
    return with_unknown(known, ids[place]), number[of_events]


def _moment(time: int) -> str:
    return str(np.datetime64(time, "ms"))

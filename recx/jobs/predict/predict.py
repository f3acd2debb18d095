"""Predictions of a run's model for many users, block by block, so that no more than a block is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.errors import InputError
from recx.core.progress import bar, say
from recx.core.protocols import retrieves_slates
from recx.core.ragged import blocks
from recx.core.types import Array, Bools, Interactions, RankedLists
from recx.experiment.blocks import REQUESTS
from recx.experiment.files import arrow_ids
from recx.experiment.model.asking import Asked, Population
from recx.experiment.model.model import Model
from recx.experiment.model.population import numbers_of
from recx.jobs.predict.files import alike, all_alike, named, read_events, read_ids
from recx.jobs.predict.moment import moment
from recx.jobs.predict.output import COLUMNS, writing

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Wanted:
    """What is asked of a model.

    Attributes:
        users: A file of the users; None: those of ``user``, or of ``history``, or else all who have an event.
        user: Ids of users, instead of a file.
        history: A file of events, which their users have instead of others.
        items: A file of the items that may be shown; None: all.
        at: The time of the requests; None: 1 ms after each user's last event.
        k: The length of the lists.
    """

    users: Path | None = None
    user: Sequence[str] = ()
    history: Path | None = None
    items: Path | None = None
    at: str | None = None
    k: int = 10


@dataclass(frozen=True)
class Made:
    """How much was predicted.

    Attributes:
        users: How many users were asked for.
        rows: How many rows their lists have.
        unknown: Of how many users the chain knew no event.
        without_list: How many users have an empty list.
    """

    users: int = 0
    rows: int = 0
    unknown: int = 0
    without_list: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """What some of the users are -> how many."""
        return {"unknown to the model": self.unknown, "with an empty list": self.without_list}

    def __add__(self, other: Made) -> Made:
        return Made(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


def asked_of(model: Model, wanted: Wanted) -> Asked:
    """Return the requests; what was left out of the files is said.

    Raises:
        InputError: A file cannot be used, or the run's data is needed and missing.
    """
    chain = model.kept.chain
    if wanted.k > chain.n_candidates and not retrieves_slates(chain.retriever):
        say(f"  the lists have at most {chain.n_candidates} items, the run's n_candidates")
    events = None if wanted.history is None else _events(wanted.history, model)
    population = model.population if events is None else _population(model, events)
    known = population.history
    ids = None
    if wanted.users is not None or wanted.user:
        where = "--user" if wanted.users is None else str(wanted.users)
        raw = named(wanted.user) if wanted.users is None else read_ids(wanted.users, "user")
        found = all_alike(raw, known.users, where)
        ids = found.ids
        if found.repeated:
            say(f"  {found.repeated:,} of the users are named again, and count once")
    if events is not None:
        theirs = all_alike(events.users.ids, known.users, str(wanted.history)).ids
        events = replace(events, users=replace(events.users, ids=theirs))
        known = known if len(known) else events
    at = None if wanted.at is None else moment(wanted.at, model.kept.config["dataset"], known)
    return population.asked(ids, events, at, None if wanted.items is None else _allowed(wanted.items, model))


def _events(path: Path, model: Model) -> Interactions:
    events, unknown = read_events(path, model.kept)
    counted = {name.replace("_", " "): n for name, n in events.notes.items() if n and name.endswith(("rows", "_0"))}
    for name, n in {"events of unknown items": unknown, **counted}.items():
        if n:
            say(f"  {path}: {n:,.0f} {name} are left out")
    if filters := model.kept.config.get("filter"):
        say(f"  {path}: each other event counts, since the run's filters ({', '.join(filters)}) are not applied here")
    return events


def _population(model: Model, events: Interactions) -> Population:
    """Return the users that a model knows; nobody, where the data of its run is gone or has changed, which is said."""
    try:
        return model.population
    except InputError as error:
        say(f"  the events of --history are the whole history, since that of the run is not here: {error}")
    return Population.of_nobody(model.kept.chain, events)


def _allowed(path: Path, model: Model) -> Bools:
    """Return which items may be shown [n_items]."""
    items = model.kept.chain.items
    found = alike(read_ids(path, "item"), items)
    number = numbers_of(found.ids, items, "items")
    allowed = np.zeros(len(items), dtype=bool)
    allowed[number[number >= 0]] = True
    unknown = int((number < 0).sum()) + found.unlike
    if not allowed.any():
        raise InputError(f"{path}: the model knows none of its {unknown:,} items: name items of the run's data")
    if unknown:
        say(f"  {path}: {unknown:,} items are left out, which the model does not know")
    return allowed


def in_blocks(asked: Asked, k: int) -> Iterator[tuple[Asked, RankedLists]]:
    """Yield some of the users, in their order, with the best ``k`` items of each, and show the progress."""
    borders = list(blocks(len(asked.ids), REQUESTS))
    with bar() as show:
        for start, stop in borders:
            part = part_of(asked, start, stop)
            yield part, part.answers(k)
            show(stop / len(asked.ids), f"{stop:,} of {len(asked.ids):,} users")


def part_of(asked: Asked, start: int, stop: int) -> Asked:
    """Return the requests of consecutive users."""
    time = None if asked.time is None else asked.time[start:stop]
    return replace(asked, ids=asked.ids[start:stop], user=asked.user[start:stop], time=time)


def write(asked: Asked, k: int, path: Path) -> Made:
    """Write the lists of all users to a file, under a temporary name until it is complete."""
    made, items = Made(), asked.history.items.ids
    with writing(path, asked.ids, items) as append:
        of_items = arrow_ids(items)
        for part, lists in in_blocks(asked, k):
            append(table_of(part, lists, of_items))
            made += Made(len(part.ids), len(lists), int((~part.known).sum()), int((lists.lengths == 0).sum()))
    return made


def first_rows(asked: Asked, k: int, most: int) -> dict[str, list[Any]]:
    """Return the rows of the first users by column."""
    first = part_of(asked, 0, most)
    return dict(table_of(first, first.answers(k), arrow_ids(asked.history.items.ids)).to_pydict())


def table_of(asked: Asked, lists: RankedLists, items: pa.Array) -> pa.Table:
    """Return the rows of lists: user, rank from 1, item, score, known; raw ids."""
    import pyarrow as pa

    of_row = pa.array(lists.list_of_row)
    columns: Sequence[Array | pa.Array] = (
        arrow_ids(asked.ids).take(of_row),
        lists.rank,
        items.take(pa.array(lists.item)),
        np.asarray(lists.score),
        pa.array(asked.known).take(of_row),
    )
    return pa.table(list(map(pa.array, columns)), names=list(COLUMNS))

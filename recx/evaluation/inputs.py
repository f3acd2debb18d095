"""Reads lists, targets, history and items from frames, files or arrays and numbers their ids together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.abstaining import IS_ABSTAIN
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import blocks, blocks_of_groups, indptr_of, rises, rows_of_groups
from recx.core.types import Array, Bools, Floats, Interactions, Ints, Longs, Notes, RankedLists
from recx.evaluation import frames, large_tables
from recx.evaluation.given_tables import frame_of
from recx.evaluation.grouped import ROWS, Grouped, number, numbered
from recx.evaluation.near_ids import spelled_differently

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class EvaluationInputs:
    """What an evaluation needs, with common numbers for users and items.

    Attributes:
        lists: The lists, also of users without a row in the truth.
        target_indptr: Borders of each user's targets.
        target_item: int32 [n_targets].
        grade: [n_targets].
        history: What was known before (without events if nothing is known); its ``users`` and ``items`` hold the raw
            ids.
        notes: Counts of what was left out.
        scored: Whether the values of the lists are scores, not just ranks.
    """

    lists: RankedLists
    target_indptr: Longs
    target_item: Ints
    grade: Array
    history: Interactions
    notes: Notes = field(default_factory=dict)
    scored: bool = True

    @property
    def target_user(self) -> Ints:
        """The user of each target [n_targets]."""
        return np.repeat(np.arange(len(self.target_indptr) - 1, dtype=np.int32), np.diff(self.target_indptr))

    @property
    def n_asking(self) -> int:
        """Number of users with a target, whatever its grade."""
        return int(np.count_nonzero(np.diff(self.target_indptr)))


def inputs_of(
    recommendations: Any,
    relevance: Any,
    *,
    order: frames.Order = "auto",
    history: Any = None,
    items: Any = None,
    columns: Mapping[str, str] | None = None,
) -> EvaluationInputs:
    """Convert frames, files or arrays; see ``recx.evaluate`` for the arguments.

    Raises:
        InputError: One of them cannot be used, or lists and truth have no user in common.
    """
    if isinstance(recommendations, RankedLists) or isinstance(relevance, Interactions):
        if columns:
            raise InputError("columns= names columns of tables, and lists of recx have none: leave it out")
        return _of_arrays(recommendations, relevance, history, items)
    given = {"recommendations": recommendations, "relevance": relevance}
    given |= {name: table for name, table in {"history": history, "items": items}.items() if table is not None}
    paths = {name: Path(table) for name, table in given.items() if isinstance(table, str | Path) and not columns}
    lists = large_tables.lists_of(paths["recommendations"], order) if "recommendations" in paths else None
    truth = large_tables.truth_of(paths["relevance"]) if "relevance" in paths else None
    large = {"recommendations": lists, "relevance": truth}
    small = {name: table for name, table in given.items() if large.get(name) is None}
    tables = _same_type_of_ids({name: frame_of(table, name, columns) for name, table in small.items()})
    left_out = sum((Counter(table.attrs.get("notes", {})) for table in tables.values()), Counter[str]())
    scored = order in ("auto", "score") and (lists is not None or "score" in tables["recommendations"])
    lists = frames.lists_of(tables["recommendations"], order) if lists is None else lists
    truth = frames.truth_of(tables["relevance"]) if truth is None else truth
    inputs = _of_tables(lists, truth, {name: tables[name] for name in ("history", "items") if name in tables})
    return replace(inputs, scored=scored, notes={**inputs.notes, **left_out})


def _of_arrays(lists: Any, target: Any, history: Any, items: Any) -> EvaluationInputs:
    given = {"recommendations": lists, "relevance": target, "history": history, "items": items}
    kinds = {"recommendations": RankedLists, "relevance": Interactions, "history": Interactions, "items": Entities}
    for name, kind in kinds.items():
        if not isinstance(given[name], kind) and (given[name] is not None or name in ("recommendations", "relevance")):
            raise InputError(
                "recommendations, relevance, history and items must all be frames or paths, or all be RankedLists, "
                f"Interactions, Interactions and Entities: {name} is of type {type(given[name]).__name__}"
            )
    known = target.keep(np.zeros(len(target), dtype=bool)) if history is None else history
    known = known if items is None else replace(known, items=items)
    if known.n_users < target.n_users or known.n_items < target.n_items:
        raise InputError(
            f"history and items have {known.n_users} users and {known.n_items} items, but relevance {target.n_users} "
            f"and {target.n_items}: number users and items the same way in all of them"
        )
    _check_lists(lists, known)
    outside = lists.user >= target.n_users
    only_in_lists = outside | (target.lengths[np.where(outside, 0, lists.user)] == 0)
    notes = {"users_only_in_lists": int(only_in_lists.sum()), "items_unknown": 0}
    return EvaluationInputs(lists, target.indptr, target.item, target.weight, known, notes)


def _check_lists(lists: RankedLists, known: Interactions) -> None:
    """Raise InputError if lists break an invariant of their type, which would make figures wrong."""
    if (np.diff(lists.user) <= 0).any() and len(np.unique(lists.user)) < lists.n_lists:
        raise InputError("recommendations contain two lists of one user: give one list per user")
    for start, stop in blocks_of_groups(lists.indptr, ROWS):
        _check_rows(lists[start:stop], known)


def _check_rows(lists: RankedLists, known: Interactions) -> None:
    for what, rows in {
        "an item outside the catalogue": lists.item.astype(np.uint32) >= known.n_items,  # negative ones become large
        "a score that is not finite": ~np.isfinite(lists.score),
        "scores that rise along the list": rises(lists.score, lists.indptr)[:-1],
    }.items():
        if rows.any():
            user = lists.user[np.searchsorted(lists.indptr, int(np.argmax(rows)), side="right") - 1]
            name = known.users.ids[user] if user < known.n_users else user
            raise InputError(f"recommendations: the list of user {name} has {what}: correct it")


def _of_tables(lists: Grouped, truth: Grouped, tables: dict[str, pd.DataFrame]) -> EvaluationInputs:
    import pandas as pd

    nothing = Grouped(truth.users[:0], np.zeros(1, np.int64), np.zeros(0, np.int32), truth.items[:0], truth.value[:0])
    known = frames.events_of(tables["history"]) if "history" in tables else nothing
    columns = {"recommendations": lists.numbered, "relevance": truth.numbered, "history": known.numbered}
    if "items" in tables:
        columns["items"] = numbered(frames.ids_of(tables["items"], "item", "items"))
    codes, item_ids = number(columns, "item")
    codes_of = dict(zip(columns, codes, strict=True))
    _refuse_two_types(lists.users, truth.users, "recommendations")
    askers = {"recommendations": lists.users, "relevance": truth.users, "history": known.users}
    items = {name: column.ids for name, column in columns.items()}
    spelled = {"users": spelled_differently(askers, "user"), "items": spelled_differently(items, "item")}

    same = np.array_equal(lists.users, truth.users)
    place = np.arange(len(truth.users)) if same else pd.Index(truth.users).get_indexer(pd.Index(lists.users))
    judged = place >= 0
    if not judged.any():
        raise InputError(
            f"recommendations and relevance have no user in common ({_few(lists.users)} against {_few(truth.users)}): "
            "check that both use the same user ids"
        )
    place[~judged] = len(truth.users) + np.arange(np.count_nonzero(~judged))  # left out where lists are judged
    n_items = len(item_ids)
    present = {name: _present(of_rows, n_items) for name, of_rows in codes_of.items()}
    shown = present.pop("recommendations")
    elsewhere = np.logical_or.reduce([*present.values()])
    entities = _entities(item_ids, tables["items"], codes_of["items"]) if "items" in tables else Entities(item_ids)
    return EvaluationInputs(
        lists=RankedLists(place.astype(np.int32), lists.indptr, codes_of["recommendations"], lists.value),
        target_indptr=truth.indptr,
        target_item=codes_of["relevance"],
        grade=truth.value,
        history=_history(known, codes_of["history"], truth.users, entities),
        notes={
            "users_only_in_lists": int((~judged).sum()),
            "items_unknown": n_items - int(np.count_nonzero(elsewhere)),
            **{f"{what}_spelled_differently": count for what, count in spelled.items() if count},
            **({} if (shown & present["relevance"]).any() else {"no_item_in_common": 1}),
        },
    )


def _refuse_two_types(one: Array, other: Array, name: str) -> None:
    """Raise InputError if the users of a table are whole numbers and those of the truth text, or the reverse."""
    number({name: numbered(one[:1]), "relevance": numbered(other[:1])}, "user")


def _present(codes: Ints, n_ids: int) -> Bools:
    """Return which of the ids occur [n_ids]."""
    present = np.zeros(n_ids, dtype=bool)
    for start, stop in blocks(len(codes), ROWS):  # all at once, NumPy would copy them to int64
        present[codes[start:stop]] = True
    return present


def _history(known: Grouped, item: Ints, users: Array, items: Entities) -> Interactions:
    """Return the history, with the users of the truth followed by all others that it contains."""
    import pandas as pd

    if not len(known.users):
        nothing = np.zeros(0, dtype=np.float32)
        return Interactions(np.zeros(len(users) + 1, np.int64), item, None, nothing, Entities(users), items)
    _refuse_two_types(known.users, users, "history")
    place = pd.Index(users).get_indexer(pd.Index(known.users))
    place[place < 0] = len(users) + np.arange((place < 0).sum())
    everyone = np.concatenate([users, known.users[place >= len(users)]])
    lengths = np.zeros(len(everyone), dtype=np.int64)
    lengths[place] = known.lengths
    rows = rows_of_groups(known.indptr, np.argsort(place))
    weight = np.ones(len(rows), dtype=np.float32)
    return Interactions(indptr_of(lengths), item[rows], None, weight, Entities(everyone), items)


def _entities(ids: Array, frame: pd.DataFrame, codes: Ints) -> Entities:
    """Return the catalogue with what the frame of items says of it: category, is_abstain, embedding."""
    import pandas as pd

    entities = Entities(ids)
    times = np.bincount(codes)
    if times.max() > 1:
        raise InputError(f"items: the item {ids[np.argmax(times)]} occurs twice: keep one row per item")
    for name in {"category", "embedding", IS_ABSTAIN} & set(frame.columns):
        frames.require(frame, name, "items")
    if "category" in frame:
        category = np.full(len(ids), -1, dtype=np.int32)
        try:
            category[codes] = pd.factorize(frame["category"])[0]
        except TypeError as error:  # lists, dictionaries
            raise InputError(f"items: column 'category' must hold one text or number per item ({error})") from error
        entities = replace(entities, table={"category": category})
    if IS_ABSTAIN in frame:
        flags = pd.to_numeric(frame[IS_ABSTAIN], errors="coerce")
        if not flags.isin((0, 1)).all():
            raise InputError(f"items: column {IS_ABSTAIN!r} must be 1 for the item that stands for no answer, else 0")
        nothing = np.zeros(len(ids), dtype=np.float32)
        nothing[codes] = flags
        entities = replace(entities, table={**entities.table, IS_ABSTAIN: nothing})
    if "embedding" in frame and frame["embedding"].notna().any():
        entities = replace(entities, embedding=_embedding(frame, codes, len(ids)))
    return entities


def _embedding(frame: pd.DataFrame, codes: Ints, n_items: int) -> Floats:
    known = frame["embedding"].notna().to_numpy()
    try:
        with np.errstate(over="ignore"):  # what does not fit becomes infinite, which is reported below
            vectors = np.stack([np.asarray(vector, dtype=np.float32) for vector in frame["embedding"][known]])
    except (TypeError, ValueError) as error:
        raise InputError(f"items: column 'embedding' must hold arrays of one length, or nothing ({error})") from error
    if vectors.ndim != 2 or not vectors.size:
        raise InputError(
            "items: column 'embedding' must hold one array of numbers per item, not an array of shape "
            f"{vectors.shape[1:]}"
        )
    broken = ~np.isfinite(vectors).all(axis=1) & ~np.isnan(vectors).all(axis=1)
    if broken.any():
        item = frame["item"][known].iloc[int(np.argmax(broken))]
        raise InputError(
            f"items: the embedding of item {item} holds a number that is missing, infinite or too large for a float32: "
            "correct it, or leave the item without an embedding"
        )
    embedding = np.full((n_items, vectors.shape[1]), np.nan, dtype=np.float32)
    embedding[codes[known]] = vectors
    return embedding


def _same_type_of_ids(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Convert all ids to text if all tables are text files and one of them has ids that are not whole numbers."""
    if not all(table.attrs.get("text") for table in tables.values()):
        return tables
    for column in ("user", "item"):
        having = {name: table for name, table in tables.items() if column in table}
        if len({table[column].dtype.kind == "i" for table in having.values()}) > 1:
            text = {name: table.assign(**{column: table[column].astype(str)}) for name, table in having.items()}
            tables = {**tables, **text}
    return tables


def _few(users: Array) -> str:
    return ", ".join(str(user) for user in users[:3].tolist()) + (" …" if len(users) > 3 else "")

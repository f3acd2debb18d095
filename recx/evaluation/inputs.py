"""Lists, targets and what surrounds them, brought from frames, files or arrays under common numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of, rises, rows_of_groups
from recx.core.types import Array, Floats, Interactions, Ints, Notes, RankedLists
from recx.evaluation import frames

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class EvaluationInputs:
    """What an evaluation looks at.

    scored: whether the lists' values are scores, and not just ranks.

    lists: of users with a row in the truth. target_user, target_item: int32 [n_targets]; grade: [n_targets].
    history: what was known before (no events where nothing is known); its ``users`` and ``items`` hold the raw ids.
    """

    lists: RankedLists
    target_user: Ints
    target_item: Ints
    grade: Array
    history: Interactions
    notes: Notes = field(default_factory=dict)
    scored: bool = True


def inputs_of(
    recommendations: Any, relevance: Any, *, order: frames.Order = "score", history: Any = None, items: Any = None
) -> EvaluationInputs:
    """Return the world of these frames, files or arrays; see ``recx.evaluate``.

    Raises:
        InputError: one of them cannot be used, or lists and truth have no user in common.
    """
    if isinstance(recommendations, RankedLists) or isinstance(relevance, Interactions):
        return _of_arrays(recommendations, relevance, history, items)
    tables = {
        "recommendations": _frame(recommendations, "recommendations"),
        "relevance": _frame(relevance, "relevance"),
        **({} if history is None else {"history": _frame(history, "history")}),
        **({} if items is None else {"items": _frame(items, "items")}),
    }
    tables = _one_kind_of_ids(tables)
    lists = frames.lists_of(tables["recommendations"], order)
    truth = frames.truth_of(tables["relevance"])
    world = _of_tables(lists, truth, tables.get("history"), tables.get("items"))
    return replace(world, scored=order == "score" and "score" in tables["recommendations"])


def _of_arrays(lists: Any, target: Any, history: Any, items: Any) -> EvaluationInputs:
    given = {"recommendations": lists, "relevance": target, "history": history, "items": items}
    kinds = {"recommendations": RankedLists, "relevance": Interactions, "history": Interactions, "items": Entities}
    for name, kind in kinds.items():
        if not isinstance(given[name], kind) and (given[name] is not None or name in ("recommendations", "relevance")):
            raise InputError(
                "recommendations, relevance, history and items must all be frames or paths, or RankedLists, "
                f"Interactions, Interactions and Entities: {name} is {type(given[name]).__name__}"
            )
    known = target.keep(np.zeros(len(target), dtype=bool)) if history is None else history
    known = known if items is None else replace(known, items=items)
    if known.n_users < target.n_users or known.n_items < target.n_items:
        raise InputError(
            f"history and items know {known.n_users} users and {known.n_items} items, relevance {target.n_users} and "
            f"{target.n_items}: number users and items alike in all"
        )
    _check_lists(lists, known)
    outside = lists.user >= target.n_users
    only_in_lists = outside | (target.lengths[np.where(outside, 0, lists.user)] == 0)
    notes = {"users_only_in_lists": int(only_in_lists.sum()), "items_unknown": 0}
    return EvaluationInputs(lists, target.user, target.item, target.weight, known, notes)


def _check_lists(lists: RankedLists, known: Interactions) -> None:
    """Raise InputError where lists break a promise of their type that would make figures wrong."""
    if (np.diff(lists.user) <= 0).any() and len(np.unique(lists.user)) < lists.n_lists:
        raise InputError("recommendations hold two lists of one user: give one list a user")
    for what, rows in {
        "an item outside the catalogue": lists.item.astype(np.uint32) >= known.n_items,  # negative ones become large
        "a score that is not finite": ~np.isfinite(lists.score),
        "scores that rise along the list": rises(lists.score, lists.indptr)[:-1],
    }.items():
        if rows.any():
            user = lists.user[np.searchsorted(lists.indptr, int(np.argmax(rows)), side="right") - 1]
            name = known.users.ids[user] if user < known.n_users else user
            raise InputError(f"recommendations: the list of user {name} has {what}: correct it")


def _of_tables(
    lists: frames.Grouped, truth: frames.Grouped, history: pd.DataFrame | None, items: pd.DataFrame | None
) -> EvaluationInputs:
    import pandas as pd

    known = None if history is None else frames.events_of(history)
    catalogue = None if items is None else frames.ids_of(items, "item", "items")
    columns = {"recommendations": lists.item, "relevance": truth.item}
    if known is not None:
        columns["history"] = known.item
    if catalogue is not None:
        columns["items"] = catalogue
    codes, item_ids = frames.number(columns, "item")
    number = dict(zip(columns, codes, strict=True))
    frames.number({"recommendations": lists.users[:1], "relevance": truth.users[:1]}, "user")  # of one type

    user_ids = pd.Index(truth.users)
    place = user_ids.get_indexer(pd.Index(lists.users)) if len(lists.users) else np.zeros(0, dtype=np.int64)
    asked = place >= 0
    if not asked.any():
        raise InputError(
            f"recommendations and relevance have no user in common ({_few(lists.users)} against {_few(truth.users)}): "
            "check that both use the same user ids"
        )
    rows: Any = slice(None) if asked.all() else rows_of_groups(lists.indptr, np.flatnonzero(asked))
    entities = _entities(item_ids, items, number.get("items"))
    return EvaluationInputs(
        lists=RankedLists(
            user=place[asked].astype(np.int32),
            indptr=indptr_of(lists.lengths[asked]),
            item=number["recommendations"][rows],
            score=lists.value[rows],
        ),
        target_user=np.repeat(np.arange(len(truth.users), dtype=np.int32), truth.lengths),
        target_item=number["relevance"],
        grade=truth.value,
        history=_history(known, number.get("history"), truth.users, entities),
        notes={
            "users_only_in_lists": int((~asked).sum()),
            "items_unknown": _unknown(number, len(item_ids)),
        },
    )


def _unknown(number: dict[str, Ints], n_items: int) -> int:
    """Count the items that are recommended and stand in no other table."""
    shown = np.bincount(number["recommendations"], minlength=n_items) > 0
    for name, codes in number.items():
        if name != "recommendations":
            shown[codes] = False
    return int(shown.sum())


def _history(known: frames.Grouped | None, item: Ints | None, users: Array, items: Entities) -> Interactions:
    """Return the history, whose users are those of the truth and, behind them, all others that it names."""
    import pandas as pd

    if known is None or item is None:
        nobody = np.zeros(len(users) + 1, dtype=np.int64)
        nothing = np.zeros(0, dtype=np.float32)
        return Interactions(nobody, nothing.astype(np.int32), None, nothing, Entities(users), items)
    frames.number({"history": known.users[:1], "relevance": users[:1]}, "user")
    place = pd.Index(users).get_indexer(pd.Index(known.users))
    place[place < 0] = len(users) + np.arange((place < 0).sum())
    everyone = np.concatenate([users, known.users[place >= len(users)]])
    lengths = np.zeros(len(everyone), dtype=np.int64)
    lengths[place] = known.lengths
    rows = rows_of_groups(known.indptr, np.argsort(place))
    weight = np.ones(len(rows), dtype=np.float32)
    return Interactions(indptr_of(lengths), item[rows], None, weight, Entities(everyone), items)


def _entities(ids: Array, frame: pd.DataFrame | None, codes: Ints | None) -> Entities:
    """Return the catalogue with what the frame of items says of it: a category, an embedding."""
    import pandas as pd

    entities = Entities(ids)
    if frame is None or codes is None:
        return entities
    times = np.bincount(codes)
    if times.max() > 1:
        raise InputError(f"items: the item {ids[np.argmax(times)]} stands there twice: keep one row an item")
    for name in {"category", "embedding"} & set(frame.columns):
        frames.require(frame, name, "items")
    if "category" in frame:
        category = np.full(len(ids), -1, dtype=np.int32)
        try:
            category[codes] = pd.factorize(frame["category"])[0]
        except TypeError as error:  # lists, dictionaries
            raise InputError(f"items: column 'category' must hold one word or number an item ({error})") from error
        entities = replace(entities, table={"category": category})
    if "embedding" in frame and frame["embedding"].notna().any():
        entities = replace(entities, embedding=_embedding(frame, codes, len(ids)))
    return entities


def _embedding(frame: pd.DataFrame, codes: Ints, n_items: int) -> Floats:
    known = frame["embedding"].notna().to_numpy()
    try:
        with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is told below
            vectors = np.stack([np.asarray(vector, dtype=np.float32) for vector in frame["embedding"][known]])
    except (TypeError, ValueError) as error:
        raise InputError(f"items: column 'embedding' must hold arrays of one length, or nothing ({error})") from error
    if vectors.ndim != 2 or not vectors.size:
        raise InputError(
            f"items: column 'embedding' must hold one array of numbers an item, not an array of {vectors.shape[1:]}"
        )
    broken = ~np.isfinite(vectors).all(axis=1) & ~np.isnan(vectors).all(axis=1)
    if broken.any():
        item = frame["item"][known].iloc[int(np.argmax(broken))]
        raise InputError(
            f"items: the embedding of item {item} holds a number that is missing, infinite or too large for a float32: "
            "correct it, or leave the item without one"
        )
    embedding = np.full((n_items, vectors.shape[1]), np.nan, dtype=np.float32)
    embedding[codes[known]] = vectors
    return embedding


def _frame(given: Any, name: str) -> pd.DataFrame:
    """Return a frame, or what the file of this path holds."""
    import pandas as pd

    if isinstance(given, str | Path):
        from recx.storage.readers import lists

        return lists.read(Path(given), name)
    if not isinstance(given, pd.DataFrame):
        raise InputError(f"{name} must be a frame (pandas) or the path of a file, not {type(given).__name__}")
    if given.columns.nlevels > 1:
        raise InputError(f"{name} has column names of {given.columns.nlevels} levels: give them one word each")
    if not len(given):
        raise InputError(f"{name} has no rows: give some, or leave it out if it may be left out")
    return given


def _one_kind_of_ids(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Make ids text everywhere where all tables are text files and one of them has ids that are no whole numbers."""
    if not all(table.attrs.get("text") for table in tables.values()):
        return tables
    for column in ("user", "item"):
        having = [name for name, table in tables.items() if column in table]
        if len({tables[name][column].dtype.kind == "i" for name in having}) > 1:
            tables = {
                name: table.assign(**{column: table[column].astype(str)}) if name in having else table
                for name, table in tables.items()
            }
    return tables


def _few(users: Array) -> str:
    return ", ".join(str(user) for user in users[:3].tolist()) + (" …" if len(users) > 3 else "")

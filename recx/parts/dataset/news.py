"""Clicks on news articles in the Tianchi / Globo.com format, from a folder or from the generator."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recx.core.bounds import PositiveInt, Seed, check
from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.types import Array, Interactions, Longs
from recx.parts.dataset.events import Duplicates, at_home, interactions_of
from recx.parts.dataset.news_files import CONTEXT, NewsTables, read_news
from recx.parts.dataset.synthetic import Articles, Readers, make_news
from recx.storage.readers.columns import TimeUnit


@dataclass(frozen=True)
class News:
    """A news site's clicks, with what is known of its articles.

    path: the folder (see ``recx.parts.dataset.news_files``); None: the generator makes a small site.
    time_unit: what the times of the files count: ms, s, us, ns or iso (dates).
    duplicates: ``drop`` or ``keep`` rows that repeat user, article and time.
    readers, articles, days, seed: the generator's size and seed (see ``recx.parts.dataset.synthetic``).
    """

    path: str | None = None
    time_unit: TimeUnit = "ms"
    duplicates: Duplicates = "drop"
    readers: Readers = 5000
    articles: Articles = 2000
    days: PositiveInt = 5
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "dataset")

    def load(self) -> Interactions:
        """Return the clicks of both logs; the readers of testA are those ``to_predict``.

        items: every article that was clicked, described or embedded, sorted by id, with ``created_at`` (ms),
        ``category`` (codes), ``words`` and the embedding. users: the context of the reader's first click as codes.

        Raises:
            InputError: a file or a setting cannot be used.
        """
        if self.path is None:
            tables = make_news(self.readers, self.articles, self.days, self.seed)
        else:
            tables = read_news(at_home(self.path), self.time_unit)
        return _interactions(tables, self.duplicates)


def _interactions(tables: NewsTables, duplicates: Duplicates) -> Interactions:
    logs = [tables.train] if tables.test is None else [tables.train, tables.test]
    clicks = {
        name: np.concatenate([log[name] for log in logs]) for name in tables.train if all(name in g for g in logs)
    }
    items, notes = _articles(tables, np.unique(clicks["click_article_id"]))
    columns = {"user": clicks["user_id"], "item": clicks["click_article_id"], "time": clicks["click_timestamp"]}
    events = interactions_of(columns, duplicates, items)
    assert events.time is not None
    notes |= dict(events.notes) | {"clicks_train": len(tables.train["user_id"])}
    if "created_at" in items.table:
        created = items.table["created_at"][events.item]
        notes["clicks_before_creation"] = int(((events.time < created) & (created < UNKNOWN_TIME)).sum())
    to_predict = None
    if tables.test is not None:
        to_predict, in_both = _to_predict(tables, events.users.ids)
        notes |= {
            "clicks_test_a": len(tables.test["user_id"]),
            "readers_to_predict": len(to_predict),
            "readers_in_both_logs": in_both,
        }
    users = replace(events.users, table=_context(clicks))
    return replace(events, users=users, to_predict=to_predict, notes=notes)


def _to_predict(tables: NewsTables, ids: Array) -> tuple[Array, int]:
    import pandas as pd

    assert tables.test is not None
    asked = pd.unique(tables.test["user_id"])
    return (
        pd.Index(ids).get_indexer(pd.Index(asked)).astype(np.int32),
        int(np.isin(asked, tables.train["user_id"]).sum()),
    )


def _context(clicks: dict[str, Array]) -> dict[str, Array]:
    """Return the context of every reader's first click as codes, readers by first appearance."""
    import pandas as pd

    present = [name for name in CONTEXT if name in clicks]
    frame = pd.DataFrame({"user": clicks["user_id"], "time": clicks["click_timestamp"]})
    first = frame.groupby("user", sort=False)["time"].idxmin().to_numpy() if present else np.empty(0, int)
    return {name.removeprefix("click_"): _codes(clicks[name][first]) for name in present}


def _codes(values: Longs) -> Array:
    """Return codes from 0 in the order of the values [n]; -1 stays where the value is missing."""
    known = values >= 0
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[known] = np.unique(values[known], return_inverse=True)[1]
    return codes


def _articles(tables: NewsTables, clicked: Longs) -> tuple[Entities, dict[str, float]]:
    described = np.empty(0, np.int64) if tables.articles is None else tables.articles["article_id"]
    embedded = np.empty(0, np.int64) if tables.embedding_id is None else tables.embedding_id
    ids = np.unique(np.concatenate([clicked, described, embedded]))
    notes: dict[str, float] = {
        "articles": len(ids),
        "articles_unclicked": len(ids) - len(clicked),
        "articles_without_metadata": int((~np.isin(ids, described)).sum()),
        "articles_without_embedding": len(ids),
        "metadata_of_unclicked_articles": int((~np.isin(described, clicked)).sum()),
        "duplicate_articles": len(described) - len(np.unique(described)),
        "duplicate_embeddings": len(embedded) - len(np.unique(embedded)),
    }
    embedding = None
    if tables.embedding is not None and len(embedded):
        embedding = _aligned(ids, embedded, tables.embedding, np.nan)
        embedding[np.isnan(embedding).any(axis=1)] = np.nan
        notes["articles_without_embedding"] = int(np.isnan(embedding[:, 0]).sum())
    return Entities(ids, _metadata(tables, ids), embedding), notes


def _metadata(tables: NewsTables, ids: Longs) -> dict[str, Array]:
    if tables.articles is None:
        return {}
    described = tables.articles["article_id"]
    table: dict[str, Array] = {}
    if "created_at_ts" in tables.articles:
        table["created_at"] = _aligned(ids, described, tables.articles["created_at_ts"], UNKNOWN_TIME)
    if "category_id" in tables.articles:
        table["category"] = _aligned(ids, described, _codes(tables.articles["category_id"]), -1)
    if "words_count" in tables.articles:
        table["words"] = _aligned(ids, described, tables.articles["words_count"], np.nan)
    return table


def _aligned(ids: Longs, known: Longs, values: Array, missing: float) -> Array:
    """Return the row of ``values`` of every id (the first, if several), ``missing`` where the id is not ``known``."""
    first, rows = np.unique(known, return_index=True)
    aligned = np.full((len(ids), *values.shape[1:]), missing, dtype=values.dtype)
    aligned[np.searchsorted(ids, first)] = values[rows]
    return aligned

"""Clicks on news articles in the Tianchi / Globo.com format, from a folder or from the generator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recx.core.bounds import PositiveInt, Seed, checked
from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.event_frame import Duplicates
from recx.core.nouns import OF_NEWS
from recx.core.types import Array, Interactions, Longs
from recx.parts.dataset.events import interactions_of, made_up
from recx.parts.dataset.files import expand_home
from recx.parts.dataset.news_files import CONTEXT, FILES, Columns, NewsTables, read_news
from recx.parts.dataset.synthetic import Articles, Readers, make_news
from recx.storage.readers.times import TimeUnit

METADATA = {
    "created_at_ts": ("created_at", UNKNOWN_TIME),
    "category_id": ("category", -1),
    "words_count": ("words", np.nan),
}
"""Column of the articles -> its name in ``Entities.table``, and its value for an article without metadata."""


@dataclass(frozen=True)
@checked("dataset")
class News:
    """Clicks of a news site, with its articles' metadata.

    Attributes:
        path: the folder (see ``recx.parts.dataset.news_files``); None: a small site is generated.
        time_unit: unit of the times in the files: ms or another (see ``Table``).
        relative_times: the times count the unit from a start of their own, not from 1970.
        duplicates: ``drop`` or ``keep`` rows that repeat user, article and time.
        readers: number of generated readers (see ``recx.parts.dataset.synthetic``).
        articles: number of generated articles.
        days: number of generated days.
        seed: seed of the generator.
    """

    nouns: ClassVar = OF_NEWS
    reads: ClassVar = tuple(name for names in FILES for name in names)
    """The files in a folder that count (see ``recx.storage.cache.keys``)."""

    path: str | None = None
    time_unit: TimeUnit = "ms"
    relative_times: bool = False
    duplicates: Duplicates = "drop"
    readers: Readers = 5000
    articles: Articles = 2000
    days: PositiveInt = 5
    seed: Seed = 0

    def load(self) -> Interactions:
        """Return the clicks of both logs; the readers of testA are those ``to_predict``.

        items: every article that was clicked, described or embedded, sorted by id, with ``created_at`` (ms),
        ``category`` (codes), ``words`` and the embedding. users: the context of the reader's first click as codes,
        unknown in a fold that holds this click out.

        Raises:
            InputError: a file or a setting cannot be used.
        """
        if self.path is None:
            tables = make_news(self.readers, self.articles, self.days, self.seed)
            return made_up(_interactions(tables, self.duplicates, relative=False))
        tables = read_news(expand_home(self.path), self.time_unit, self.relative_times)
        return _interactions(tables, self.duplicates, self.relative_times)


def _interactions(tables: NewsTables, duplicates: Duplicates, relative: bool) -> Interactions:
    import pandas as pd

    logs = [tables.train] if tables.test is None else [tables.train, tables.test]
    names = [name for name in tables.train if all(name in log for log in logs)]
    clicks = {name: np.concatenate([log[name] for log in logs]) for name in names}
    items, notes = _articles(tables, np.unique(clicks["click_article_id"]))
    columns = {"user": clicks["user_id"], "item": clicks["click_article_id"], "time": clicks["click_timestamp"]}
    events = interactions_of(columns, duplicates, items, relative_times=relative)
    assert events.time is not None
    notes |= dict(events.notes) | {"clicks_train": len(tables.train["user_id"])}
    if "created_at" in items.table:
        created = items.table["created_at"][events.item]
        notes["clicks_before_creation"] = int(((events.time < created) & (created < UNKNOWN_TIME)).sum())
    to_predict = None
    if tables.test is not None:
        readers = pd.unique(tables.test["user_id"])
        to_predict = pd.Index(events.users.ids).get_indexer(pd.Index(readers)).astype(np.int32)
        notes |= {
            "clicks_test_a": len(tables.test["user_id"]),
            "readers_to_predict": len(to_predict),
            "readers_in_both_logs": int(np.isin(readers, tables.train["user_id"]).sum()),
        }
    context = _context(clicks)
    users = replace(events.users, table=context, context=tuple(context))
    return replace(events, users=users, to_predict=to_predict, notes=notes)


def _context(clicks: Columns) -> dict[str, Array]:
    """Return the context of every reader's first click as codes, readers by first appearance."""
    import pandas as pd

    first = pd.Series(clicks["click_timestamp"]).groupby(clicks["user_id"], sort=False).idxmin().to_numpy()
    return {name.removeprefix("click_"): _codes(clicks[name][first]) for name in CONTEXT if name in clicks}


def _codes(values: Longs) -> Array:
    """Return codes from 0 in the order of the values [n]; -1 where the value is missing."""
    known = values >= 0
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[known] = np.unique(values[known], return_inverse=True)[1]
    return codes


def _articles(tables: NewsTables, clicked: Longs) -> tuple[Entities, dict[str, float]]:
    articles = tables.articles or {"article_id": np.empty(0, np.int64)}
    described = articles["article_id"]
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
    table = {}
    for column, (name, missing) in METADATA.items():
        if column in articles:
            values = _codes(articles[column]) if name == "category" else articles[column]
            table[name] = _aligned(ids, described, values, missing)
    return Entities(ids, table, embedding), notes


def _aligned(ids: Longs, known: Longs, values: Array, missing: float) -> Array:
    """Return the row of ``values`` of every id (the first, if several), ``missing`` where the id is not ``known``."""
    first, rows = np.unique(known, return_index=True)
    aligned = np.full((len(ids), *values.shape[1:]), missing, dtype=values.dtype)
    aligned[np.searchsorted(ids, first)] = values[rows]
    return aligned

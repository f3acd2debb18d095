"""News impressions with clicks: the files of Ekstra Bladet's EB-NeRD (behaviors, history and articles in Parquet)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.bounds import checked
from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.errors import InputError
from recx.core.notes import KEPT_WITHOUT_CLICK
from recx.core.nouns import OF_NEWS
from recx.core.ragged import indptr_of, rows_of_groups
from recx.core.types import Array, Interactions, Longs
from recx.parts.dataset.files import expand_home, require_folder, require_path
from recx.parts.dataset.judgements import Pairs, WithoutClick, answers, once, slates
from recx.storage.readers.columnar import typed
from recx.storage.readers.content import content

BEHAVIORS, HISTORY, ARTICLES = "behaviors.parquet", "history.parquet", "articles.parquet"
SHOWN, CLICKED = "article_ids_inview", "article_ids_clicked"
READ, READ_AT = "article_id_fixed", "impression_time_fixed"


@dataclass(frozen=True)
@checked("dataset")
class Ebnerd:
    """Impressions of articles. A user is an impression, an item an article; what an impression showed is its slate.

    Attributes:
        path: a folder with behaviors.parquet and history.parquet, such as ebnerd_small/train.
        articles: the file of the articles; None: articles.parquet in the folder or the one above, if there is one.
        without_click: whether to ``drop`` impressions without a click, or to ``keep`` them, as ``evaluator=ctr`` needs
            it: they ask too, and have no answer.
    """

    nouns: ClassVar = OF_NEWS
    reads: ClassVar = (BEHAVIORS, HISTORY, ARTICLES)
    """The files in a folder that count (see ``recx.storage.cache.keys``)."""

    path: str | None = None
    articles: str | None = None
    without_click: WithoutClick = "drop"

    @property
    def depends_on(self) -> list[Path]:
        """The file of the articles, which may lie outside the folder (see ``recx.storage.cache.keys``)."""
        return [file for file in (self._articles(),) if file is not None]

    def load(self) -> Interactions:
        """Return the reader's history with its times, then the clicks of every impression at its time.

        Without a column of clicks, as in the test set, all impressions are to be predicted. An impression without a
        click (``impressions_without_click``) has no events if it is dropped, since the end of its history must not be
        mistaken for an answer; if it is kept, an event of weight 0 ends its history. A click on an article that was not
        shown is left out (``clicks_not_shown``).

        users: ``reader``. items: all articles that are described, read or shown, sorted by id, with ``text`` (title
        and subtitle), ``category`` and ``created_at``, where the articles are described.

        Raises:
            InputError: a file is missing or cannot be used.
        """
        folder = require_folder(require_path(self.path, "ebnerd_small/train"))
        where = folder / BEHAVIORS
        log = _columns(where, ("impression_id", "user_id", "impression_time", SHOWN), (CLICKED,))
        past = _columns(folder / HISTORY, ("user_id", READ, READ_AT))
        file = self._articles()
        about = (
            {} if file is None else _columns(file, ("article_id",), ("title", "subtitle", "category", "published_time"))
        )
        n, ids = len(log["user_id"]), _whole(log["impression_id"])
        if len(np.unique(ids)) != n:
            raise InputError(f"{where}: impression_id has a number twice, which names one impression: renumber them")
        shown_ptr, shown = _lists(log[SHOWN])
        clicked_ptr, clicked = _lists(log[CLICKED]) if CLICKED in log else (np.zeros(n + 1, np.int64), shown[:0])
        read_ptr, read = _lists(past[READ])
        described = _whole(about["article_id"]) if about else shown[:0]
        names, codes = np.unique(np.concatenate([described, shown, clicked, read]), return_inverse=True)
        _, shown, clicked, read = np.split(codes, np.cumsum([len(described), len(shown), len(clicked)]))
        row, of_click = (np.repeat(np.arange(n), np.diff(ptr)) for ptr in (shown_ptr, clicked_ptr))
        click = np.isin(row * len(names) + shown, of_click * len(names) + clicked)
        pairs, twice = once(Pairs(row, shown, click.astype(np.float64)))
        n_clicks = np.bincount(pairs.user[pairs.grade > 0], minlength=n)
        answered = n_clicks > 0 if CLICKED in log else np.ones(n, dtype=bool)
        silent, kept = np.flatnonzero(~answered), self.without_click == "keep"
        good = answers(pairs, silent if kept else silent[:0])
        time = _moments(log["impression_time"])
        before = _history_of(_whole(log["user_id"]), past, read_ptr, answered | kept)
        earlier = _moments(pc.list_flatten(past[READ_AT]))[before[1]]
        if (earlier >= time[before[0]]).any():
            raise InputError(f"{folder / HISTORY}: a reader's history has clicks after an impression of {BEHAVIORS}")
        user = np.concatenate([before[0], good.user])
        moment = np.concatenate([earlier, time[good.user]])
        order = np.lexsort((moment, user))
        notes: dict[str, float] = {
            "impressions": n,
            "impressions_without_click": len(silent),
            **({KEPT_WITHOUT_CLICK: len(silent)} if kept else {}),
            "impressions_without_history": n - len(np.unique(before[0])) - int((~answered & (not kept)).sum()),
            "clicks_not_shown": len(clicked) - int(n_clicks.sum()),
            "shown_twice": twice,
        }
        return Interactions(
            indptr=indptr_of(np.bincount(user, minlength=n)),
            item=np.concatenate([read[before[1]], good.item])[order].astype(np.int32),
            time=moment[order],
            weight=np.concatenate([np.ones(len(before[0])), good.grade])[order].astype(np.float32),
            users=Entities(ids, {"reader": np.unique(_whole(log["user_id"]), return_inverse=True)[1].astype(np.int32)}),
            items=_articles(names, described, about),
            slates=slates(pairs, n),
            to_predict=None if CLICKED in log else np.arange(n, dtype=np.int32),
            notes=notes,
        )

    def _articles(self) -> Path | None:
        if self.articles is not None:
            return expand_home(self.articles)
        folder = expand_home(self.path or ".")
        return next((file for file in (folder / ARTICLES, folder.parent / ARTICLES) if file.is_file()), None)


def _columns(path: Path, needed: Sequence[str], more: Sequence[str] = ()) -> dict[str, pa.Array]:
    table = typed(path, content(path))
    names = [] if table is None else table.names
    for name in needed:
        if name not in names:
            raise InputError(f"{path}: column {name!r} is missing, which EB-NeRD's file has: fetch it again")
    found = {name: table.column(name).combine_chunks() for name in (*needed, *more) if table and name in names}
    return {
        name: column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        for name, column in found.items()
    }


def _lists(column: pa.Array) -> tuple[Longs, Array]:
    """Return lists of article ids: indptr [n + 1] and ids [n_ids]."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(column), 0), dtype=np.int64)
    return indptr_of(lengths), _whole(pc.list_flatten(column))


def _whole(column: pa.Array) -> Array:
    return np.asarray(column.cast(pa.int64()))


def _moments(column: pa.Array) -> Longs:
    return np.asarray(column.cast(pa.timestamp("ms")).cast(pa.int64()), dtype=np.int64)


def _history_of(reader: Array, past: Mapping[str, pa.Array], ptr: Longs, answered: Array) -> tuple[Longs, Longs]:
    """Return the impression and the place in the history file of every earlier click [n]."""
    import pandas as pd

    place = pd.Index(_whole(past["user_id"])).get_indexer(pd.Index(reader))
    known = np.flatnonzero((place >= 0) & answered)
    return np.repeat(known, np.diff(ptr)[place[known]]), rows_of_groups(ptr, place[known])


def _articles(names: Array, described: Array, about: Mapping[str, pa.Array]) -> Entities:
    if not about:
        return Entities(names)
    import pandas as pd

    row = pd.Index(described).get_indexer(pd.Index(names))
    known = row >= 0
    table: dict[str, Array] = {}
    texts = [about[name].fill_null("").to_pylist() for name in ("title", "subtitle") if name in about]
    if texts:
        words = np.array([" ".join(filter(None, some)) for some in zip(*texts, strict=True)], dtype=object)
        table["text"] = np.where(known, words[row], "")
    if "category" in about:
        codes = np.unique(_whole(about["category"]), return_inverse=True)[1]
        table["category"] = np.where(known, codes[row], -1).astype(np.int32)
    if "published_time" in about:
        table["created_at"] = np.where(known, _moments(about["published_time"])[row], UNKNOWN_TIME)
    return Entities(names, table)

"""News impressions with clicks: the files of Microsoft's MIND (behaviors.tsv and news.tsv)."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import group_of_rows, indptr_of, position_of_rows
from recx.core.types import Array, Interactions, Longs, RankedLists
from recx.parts.dataset.events import require_path
from recx.storage.readers.tables import content, is_folder

if TYPE_CHECKING:
    import pandas as pd

BEHAVIORS = ("impression", "reader", "time", "history", "shown")
NEWS = ("id", "category", "subcategory", "title", "abstract")
CLOCK = "%m/%d/%Y %I:%M:%S %p"  # such as 11/12/2019 2:14:46 PM, taken for UTC


@dataclass(frozen=True)
class Mind:
    """A user is an impression, an item an article. What an impression showed is its slate.

    path: a folder with behaviors.tsv and news.tsv, plain or .gz.
    """

    path: str | None = None

    def load(self) -> Interactions:
        """Return the reader's history, then the clicks of every impression; impressions without labels are to predict.

        The history, of which no times are known, lies 1 ms before the first impression of the file, in its order. An
        article that is shown twice in an impression counts once, as clicked if one of its rows is (``shown_twice``).
        An impression with labels but no click (``impressions_without_click``) has no events: nobody asks for it, and
        the end of its history must not pass for its answer.

        users: ``reader`` (codes). items: all articles that are described, read or shown, sorted by id, with ``text``
        (title and abstract, "" where unknown) and ``category`` (codes).

        Raises:
            InputError: a file is missing or cannot be used.
        """
        folder = require_path(self.path, "FOLDER")
        logs, described = _table(_file(folder, "behaviors.tsv"), BEHAVIORS), _table(_file(folder, "news.tsv"), NEWS)
        where = str(_file(folder, "behaviors.tsv"))
        time = _times(logs["time"], where)
        ids = logs["impression"].to_numpy(dtype=object)
        _refuse_twice(ids, where)
        shown_ptr, shown = _split(logs["shown"])
        article, clicked, labelled = _labels(shown, group_of_rows(shown_ptr), where)
        silent = np.setdiff1d(labelled, group_of_rows(shown_ptr)[clicked])
        before, history = _split(logs["history"].mask(np.isin(np.arange(len(ids)), silent), ""))
        names, codes = _numbered(described["id"].to_numpy(dtype=object), history, article)
        users = Entities(ids, {"reader": _codes(logs["reader"])})
        items, notes = _articles(described, names)
        slates, click, twice = _slates(shown_ptr, codes[len(history) :], clicked)
        made = _events((before, codes[: len(history)]), (slates, click), time, (users, items))
        to_predict = np.setdiff1d(np.arange(len(ids)), labelled).astype(np.int32)
        notes |= {
            "impressions": len(ids),
            "impressions_without_click": len(silent),
            "impressions_to_predict": len(to_predict),
            "impressions_without_history": int((logs["history"].str.strip() == "").sum()),
            "shown_twice": twice,
        }
        return replace(made, to_predict=to_predict if len(to_predict) else None, notes=notes)


def _file(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.gz"
    return packed if is_folder(folder) and packed.exists() else folder / name


def _table(path: Path, names: tuple[str, ...]) -> pd.DataFrame:
    """Return the first columns of a file without a header, all as text."""
    import pandas as pd

    try:
        text = bytes(content(path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start + 1}): save it as UTF-8") from error
    short = next(
        (n for n, line in enumerate(io.StringIO(text), 1) if line.strip() and line.count("\t") < len(names) - 1), 0
    )
    if short:
        raise InputError(
            f"{path}, line {short}: it has fewer than {len(names)} columns ({', '.join(names)}): correct it"
        )
    return pd.read_csv(
        io.StringIO(text),
        sep="\t",
        header=None,
        names=list(names),
        usecols=range(len(names)),
        index_col=False,
        dtype=str,
        keep_default_na=False,
        quoting=csv.QUOTE_NONE,
    )


def _times(column: pd.Series[str], where: str) -> Longs:
    import pandas as pd

    dates = pd.to_datetime(column, format=CLOCK, errors="coerce")
    if dates.isna().any():
        row = int(dates.isna().to_numpy().argmax())
        raise InputError(
            f"{where}, row {row + 1}: {column.iloc[row]!r} is no time such as 11/12/2019 2:14:46 PM: correct it"
        )
    ms: Longs = dates.to_numpy().astype("datetime64[ms]").astype(np.int64)
    return ms


def _refuse_twice(ids: Array, where: str) -> None:
    import pandas as pd

    again = pd.Index(ids).duplicated()
    if again.any():
        row = int(again.argmax())
        raise InputError(f"{where}, row {row + 1}: the impression {ids[row]!r} stands there twice: number them anew")


def _split(column: pd.Series[str]) -> tuple[Longs, Array]:
    """Return the words of every row: indptr [n + 1] and words [n_words]."""
    words = column.str.split()
    lengths = words.str.len().to_numpy(dtype=np.int64)
    return indptr_of(lengths), np.array([word for of_row in words for word in of_row], dtype=object)


def _labels(shown: Array, row: Longs, where: str) -> tuple[Array, Array, Longs]:
    """Return the article of every word such as N1-0, whether it was clicked, and the rows that have labels."""
    import pandas as pd

    parts = pd.Series(shown, dtype="str").str.extract(r"^(.*?)(?:-([01]))?$")
    label = parts[1].fillna("").to_numpy(dtype=object)
    known, labelled = np.unique(row[label != ""]), np.unique(row[label == ""])
    mixed = np.intersect1d(known, labelled)
    if len(mixed):
        at = int(np.argmax((row == mixed[0]) & (label == "")))
        raise InputError(f"{where}, row {mixed[0] + 1}: {shown[at]!r} has no label -0 or -1 as others have: correct it")
    return parts[0].to_numpy(dtype=object), label == "1", known


def _numbered(*ids: Array) -> tuple[Array, Longs]:
    """Return all ids, those of the first array among them, sorted, and the numbers of the further arrays' ids."""
    import pandas as pd

    codes, names = pd.factorize(np.concatenate(ids), sort=True)
    return np.asarray(names), codes[len(ids[0]) :].astype(np.int64)


def _codes(column: pd.Series[str]) -> Array:
    import pandas as pd

    return np.asarray(pd.factorize(column, sort=True)[0], dtype=np.int32)


def _articles(described: pd.DataFrame, names: Array) -> tuple[Entities, dict[str, float]]:
    once = described.drop_duplicates("id").set_index("id").reindex(names)
    text = (once["title"].fillna("") + " " + once["abstract"].fillna("")).str.strip()
    category = once["category"].where(once["category"] != "")
    table = {"text": text.to_numpy(dtype=object), "category": _codes(category)}
    notes: dict[str, float] = {
        "articles_without_metadata": int(once["title"].isna().sum()),
        "duplicate_articles": int(described["id"].duplicated().sum()),
    }
    return Entities(names, table), notes


def _slates(indptr: Longs, item: Longs, clicked: Array) -> tuple[RankedLists, Array, int]:
    """Return what each impression showed, sorted by article, which rows were clicked, and how many were dropped."""
    row = group_of_rows(indptr)
    order = np.lexsort((~clicked, item, row))
    row, item, clicked = row[order], item[order], clicked[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (row[1:] != row[:-1]) | (item[1:] != item[:-1])
    lengths = np.bincount(row[first], minlength=len(indptr) - 1)
    offered = np.flatnonzero(lengths).astype(np.int32)
    shown = item[first].astype(np.int32)
    lists = RankedLists(offered, indptr_of(lengths[offered]), shown, np.zeros(len(shown), dtype=np.float32))
    return lists, clicked[first], int((~first).sum())


def _events(
    history: tuple[Longs, Longs], clicks: tuple[RankedLists, Array], time: Longs, entities: tuple[Entities, Entities]
) -> Interactions:
    """Put every impression's clicks behind its history."""
    (before, read), (slates, clicked) = history, clicks
    who = slates.user[slates.list_of_row[clicked]].astype(np.int64)
    n_before, n_clicks = np.diff(before), np.bincount(who, minlength=len(time))
    user = np.concatenate([group_of_rows(before), who])
    place = np.concatenate([position_of_rows(before), n_before[who] + position_of_rows(indptr_of(n_clicks))])
    order = np.lexsort((place, user))
    earlier = np.full(len(read), time.min() - 1)
    return Interactions(
        indptr=indptr_of(n_before + n_clicks),
        item=np.concatenate([read, slates.item[clicked]])[order].astype(np.int32),
        time=np.concatenate([earlier, time[who]])[order],
        weight=np.ones(len(order), dtype=np.float32),
        users=entities[0],
        items=entities[1],
        slates=slates,
    )

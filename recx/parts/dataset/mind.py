"""News impressions with clicks: the files of Microsoft's MIND (behaviors.tsv and news.tsv)."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recx.core.bounds import checked
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.notes import KEPT_WITHOUT_CLICK
from recx.core.nouns import OF_NEWS
from recx.core.ragged import group_of_rows, indptr_of, position_of_rows
from recx.core.types import Array, Interactions, Longs
from recx.parts.dataset.events import text_array
from recx.parts.dataset.files import read_text, refuse_first, require_folder, require_path
from recx.parts.dataset.judgements import Pairs, WithoutClick, answers, once, slates

if TYPE_CHECKING:
    import pandas as pd

BEHAVIORS = ("impression", "reader", "time", "history", "shown")
NEWS = ("id", "category", "subcategory", "title", "abstract")
CLOCK = "%m/%d/%Y %I:%M:%S %p"  # such as 11/12/2019 2:14:46 PM, taken as UTC


@dataclass(frozen=True)
@checked("dataset")
class Mind:
    """Impressions of articles. A user is an impression, an item an article; what an impression showed is its slate.

    Attributes:
        path: a folder with behaviors.tsv and news.tsv, plain or .gz.
        without_click: whether to ``drop`` impressions with labels but no click, or to ``keep`` them, as
            ``evaluator=ctr`` needs it: they ask too, and have no answer.
    """

    nouns: ClassVar = OF_NEWS
    reads: ClassVar = ("behaviors.tsv", "news.tsv")
    """The files in a folder that count (see ``recx.storage.cache.keys``)."""

    path: str | None = None
    without_click: WithoutClick = "drop"

    def load(self) -> Interactions:
        """Return the reader's history, then the clicks of every impression; impressions without labels are to predict.

        The history has no times; it is placed 1 ms before the first impression of the file, in its order. An article
        shown twice in an impression counts once, as clicked if any of its rows is (``shown_twice``). An impression with
        labels but no click (``impressions_without_click``) has no events if it is dropped: it has no answer, and the
        end of its history must not be mistaken for one. If it is kept, an event of weight 0 ends its history.

        users: ``reader`` (codes). items: all articles that are described, read or shown, sorted by id, with ``text``
        (title and abstract, "" where unknown) and ``category`` (codes).

        Raises:
            InputError: a file is missing or cannot be used.
        """
        import pandas as pd

        folder = require_folder(require_path(self.path, "FOLDER"))
        where = _file(folder, "behaviors.tsv")
        log, described = _table(where, BEHAVIORS), _table(_file(folder, "news.tsv"), NEWS)
        time, ids = _times(log["time"], where), log["impression"].to_numpy(dtype=object)
        refuse_first(
            log["impression"].duplicated().to_numpy(),
            lambda row: f"{where}, row {row + 1}: the impression {ids[row]!r} appears twice: renumber them",
        )
        shown_ptr, shown = _split(log["shown"])
        row = group_of_rows(shown_ptr)
        article, clicked, labelled = _labels(shown, row, where)
        silent = np.setdiff1d(labelled, row[clicked])
        kept = self.without_click == "keep"
        asked, gone = (silent, silent[:0]) if kept else (silent[:0], silent)
        before, history = _split(log["history"].mask(np.isin(np.arange(len(ids)), gone), ""))
        codes, names = pd.factorize(np.concatenate([described["id"], history, article]), sort=True)
        read, offered = np.split(codes[len(described) :], [len(history)])
        pairs, twice = once(Pairs(row, offered, clicked.astype(np.float64)))
        items, notes = _articles(described, names)
        to_predict = np.setdiff1d(np.arange(len(ids)), labelled).astype(np.int32)
        notes |= {
            "impressions": len(ids),
            "impressions_without_click": len(silent),
            **({KEPT_WITHOUT_CLICK: len(asked)} if kept else {}),
            "impressions_to_predict": len(to_predict),
            "impressions_without_history": int((log["history"].str.strip() == "").sum()),
            "shown_twice": twice,
        }
        return replace(
            _events(
                (before, read),
                answers(pairs, asked),
                time,
                (Entities(ids, {"reader": _codes(log["reader"])}), items),
            ),
            slates=slates(pairs, len(ids)),
            to_predict=to_predict if len(to_predict) else None,
            notes=notes,
        )


def _file(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.gz"
    return packed if packed.exists() else folder / name


def _table(path: Path, names: tuple[str, ...]) -> pd.DataFrame:
    """Return the first columns of a file without a header, all as text."""
    import pandas as pd

    text = read_text(path)
    for number, line in enumerate(io.StringIO(text), start=1):
        if line.strip() and line.count("\t") < len(names) - 1:
            raise InputError(
                f"{path}, line {number}: it has fewer than {len(names)} columns ({', '.join(names)}): correct it"
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


def _times(column: pd.Series[str], where: Path) -> Longs:
    import pandas as pd

    dates = pd.to_datetime(column, format=CLOCK, errors="coerce")
    refuse_first(
        dates.isna().to_numpy(),
        lambda row: (
            f"{where}, row {row + 1}: {column.iloc[row]!r} is not a time such as 11/12/2019 2:14:46 PM: correct it"
        ),
    )
    return np.asarray(dates.to_numpy().astype("datetime64[ms]").astype(np.int64))


def _split(column: pd.Series[str]) -> tuple[Longs, Array]:
    """Return the words of every row: indptr [n + 1] and words [n_words]."""
    words = column.str.split()
    return indptr_of(words.str.len().to_numpy(dtype=np.int64)), text_array(word for row in words for word in row)


def _labels(shown: Array, row: Longs, where: Path) -> tuple[Array, Array, Longs]:
    """Return the article of every word such as N1-0, whether it was clicked, and the rows that have labels."""
    import pandas as pd

    parts = pd.Series(shown, dtype="str").str.extract(r"^(.*?)(?:-([01]))?$")
    label = parts[1].fillna("").to_numpy(dtype=object)
    labelled = np.unique(row[label != ""])
    refuse_first(
        np.isin(row, labelled) & (label == ""),
        lambda at: f"{where}, row {row[at] + 1}: {shown[at]!r} has no label -0 or -1, unlike others: correct it",
    )
    return parts[0].to_numpy(dtype=object), label == "1", labelled


def _codes(column: pd.Series[str]) -> Array:
    import pandas as pd

    return np.asarray(pd.factorize(column, sort=True)[0], dtype=np.int32)


def _articles(described: pd.DataFrame, names: Array) -> tuple[Entities, dict[str, float]]:
    known = described.drop_duplicates("id").set_index("id").reindex(names)
    text = (known["title"].fillna("") + " " + known["abstract"].fillna("")).str.strip()
    category = known["category"].where(known["category"] != "")
    notes: dict[str, float] = {
        "articles_without_metadata": int(known["title"].isna().sum()),
        "duplicate_articles": int(described["id"].duplicated().sum()),
    }
    return Entities(names, {"text": text.to_numpy(dtype=object), "category": _codes(category)}), notes


def _events(
    history: tuple[Longs, Longs], clicks: Pairs, time: Longs, entities: tuple[Entities, Entities]
) -> Interactions:
    """Append every impression's clicks to its history."""
    before, read = history
    n_before, n_clicks = np.diff(before), np.bincount(clicks.user, minlength=len(time))
    user = np.concatenate([group_of_rows(before), clicks.user])
    place = position_of_rows(indptr_of(n_clicks)) + n_before[clicks.user]
    order = np.lexsort((np.concatenate([position_of_rows(before), place]), user))
    earlier = np.full(len(read), time.min() - 1)
    return Interactions(
        indptr=indptr_of(n_before + n_clicks),
        item=np.concatenate([read, clicks.item])[order].astype(np.int32),
        time=np.concatenate([earlier, time[clicks.user]])[order],
        weight=np.concatenate([np.ones(len(read)), clicks.grade])[order].astype(np.float32),
        users=entities[0],
        items=entities[1],
    )

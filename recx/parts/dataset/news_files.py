"""The tables of the Tianchi / Globo.com news format, and the folder they are read from and written to.

``train_click_log.csv`` (or ``clicks.parquet``), ``testA_click_log.csv``, ``articles.csv`` and ``articles_emb.csv``,
each plain or gzipped; only the clicks are required. https://tianchi.aliyun.com/competition/entrance/531842
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.core.errors import InputError
from recx.core.types import Array, Floats, Longs
from recx.parts.dataset.files import require_folder
from recx.storage.readers.content import content, readable
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import layouts, read
from recx.storage.readers.times import exact_times

CONTEXT = tuple(f"click_{name}" for name in ("environment", "deviceGroup", "os", "country", "region", "referrer_type"))
FILES = (("train_click_log.csv", "clicks.parquet"), ("testA_click_log.csv",), ("articles.csv",), ("articles_emb.csv",))
"""The possible names of the clicks, testA, the articles and the embeddings, each plain or with .gz."""

CLICKS = {"user_id": "whole", "click_article_id": "whole"}
ARTICLES = {"article_id": "whole", "category_id": "code?", "words_count": "number?"}
Columns = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class NewsTables:
    """The contents of a news folder; all times are in unix ms, or ``datetime64`` for those of clicks from a file.

    Attributes:
        train: user_id, click_article_id, click_timestamp and those of ``CONTEXT`` that the file has, [n clicks] each.
        test: the same for the readers whose next click is to be predicted, or None.
        articles: article_id, category_id (-1: missing), created_at_ts (``UNKNOWN_TIME``: missing), words_count, or
            None.
        embedding_id: the articles that have an embedding, int64 [m], or None.
        embedding: their embeddings, float32 [m, d], or None.
    """

    train: Columns
    test: Columns | None = None
    articles: Columns | None = None
    embedding_id: Longs | None = None
    embedding: Floats | None = None


def read_news(folder: Path, time_unit: str, relative_times: bool = False) -> NewsTables:
    """Read a folder.

    Args:
        folder: the folder.
        time_unit: unit of its times (see ``recx.storage.readers.times``).
        relative_times: the times count from a start of their own.

    Raises:
        InputError: the folder or its click log is missing, or a file cannot be used.
    """
    require_folder(folder)
    with readable(folder):
        names = sorted(path.name for path in folder.iterdir())  # a broken link included: reading it explains the error
    train, test, articles, embeddings = (_find(folder, names, *wanted) for wanted in FILES)
    if train is None:
        raise InputError(
            f"dataset.path={folder}: the folder holds neither train_click_log.csv (or .gz) nor clicks.parquet, "
            f"only {', '.join(names[:8]) or 'nothing'}: put the click log there"
        )
    clicks = {**CLICKS, "click_timestamp": exact_times(time_unit, relative_times), **dict.fromkeys(CONTEXT, "code?")}
    described = {**ARTICLES, "created_at_ts": f"{'relative ' if relative_times else ''}{time_unit}?"}
    embedding_id, embedding = _embeddings(embeddings) if embeddings else (None, None)
    return NewsTables(
        train=read(Source(train), clicks),
        test=read(Source(test), clicks) if test else None,
        articles=read(Source(articles), described, may_be_empty=True) if articles else None,
        embedding_id=embedding_id,
        embedding=embedding,
    )


def write_news(tables: NewsTables, folder: Path) -> None:
    """Write the folder that ``read_news`` reads back unchanged, as plain CSV; existing files are replaced."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    files = {"train_click_log.csv": tables.train, "testA_click_log.csv": tables.test, "articles.csv": tables.articles}
    if tables.embedding is not None and tables.embedding_id is not None:
        numbers = {f"emb_{d}": column for d, column in enumerate(tables.embedding.T)}
        files["articles_emb.csv"] = {"article_id": tables.embedding_id, **numbers}
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in files.items():
        if columns is not None:
            unfinished = folder / f"{name}.tmp"
            pacsv.write_csv(pa.table(dict(columns)), unfinished, pacsv.WriteOptions(quoting_style="none"))
            unfinished.replace(folder / name)


def _find(folder: Path, names: Sequence[str], *wanted: str) -> Path | None:
    found = [folder / (name + end) for name in wanted for end in ("", ".gz") if name + end in names]
    if len(found) > 1:
        raise InputError(f"{folder} holds both {found[0].name} and {found[1].name}: keep one of them")
    return found[0] if found else None


def _embeddings(path: Path) -> tuple[Longs, Floats]:
    data = content(path)
    names = next(iter(layouts(path, data).values()))
    numbered = sorted((int(name[4:]), name) for name in names if re.fullmatch(r"emb_\d+", name))
    if not numbered:
        raise InputError(f"{path}: column 'emb_0' is missing: the columns must be article_id, emb_0, emb_1 …")
    columns = [name for _, name in numbered]
    table = read(
        Source(path, data=data), {"article_id": "whole", **dict.fromkeys(columns, "number?")}, may_be_empty=True
    )
    return table["article_id"], np.stack([table[name] for name in columns], axis=1)

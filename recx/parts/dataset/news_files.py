"""The tables of the Tianchi / Globo.com news format, and the folder they are read from and written to.

``train_click_log.csv`` (or ``clicks.parquet``), ``testA_click_log.csv``, ``articles.csv`` and ``articles_emb.csv``,
each plain or gzipped; only the clicks are required. https://tianchi.aliyun.com/competition/entrance/531842
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.types import Array, Floats, Longs
from recx.storage.readers.tables import Source, content, read, readable

CONTEXT = (
    "click_environment",
    "click_deviceGroup",
    "click_os",
    "click_country",
    "click_region",
    "click_referrer_type",
)
CLICKS = {"user_id": "whole", "click_article_id": "whole"}
ARTICLES = {"article_id": "whole", "category_id": "code?", "words_count": "number?"}
Columns = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class NewsTables:
    """What a news folder holds; every time is in unix ms.

    train: user_id, click_article_id, click_timestamp and those of ``CONTEXT`` that the file has, [n clicks] each.
    test: the same of the readers whose next click is to be predicted, or None.
    articles: article_id, category_id (-1: missing), created_at_ts (``UNKNOWN_TIME``: missing), words_count, or None.
    embedding_id, embedding: int64 [m] and float32 [m, d], or None.
    """

    train: Columns
    test: Columns | None = None
    articles: Columns | None = None
    embedding_id: Longs | None = None
    embedding: Floats | None = None


def read_news(folder: Path, time_unit: str) -> NewsTables:
    """Read a folder; ``time_unit`` is what its times count.

    Raises:
        InputError: the folder or its click log is missing, or a file cannot be used.
    """
    with readable(folder):
        return _read_folder(folder, time_unit)


def _read_folder(folder: Path, time_unit: str) -> NewsTables:
    if folder.is_file():
        raise InputError(f"dataset.path={folder} is a file: name the folder that holds it")
    if not folder.is_dir():
        near = did_you_mean(folder.name, (p.name for p in folder.parent.iterdir())) if folder.parent.is_dir() else ""
        raise InputError(f"dataset.path={folder}: no such folder; {near or 'correct the path'}")
    clicks = {**CLICKS, "click_timestamp": time_unit, **dict.fromkeys(CONTEXT, "code?")}
    train = _find(folder, "train_click_log.csv", "clicks.parquet")
    if train is None:
        names = sorted(p.name for p in folder.iterdir())
        raise InputError(
            f"dataset.path={folder}: the folder holds neither train_click_log.csv (or .gz) nor clicks.parquet, "
            f"only {', '.join(names[:8]) or 'nothing'}: put the click log there"
        )
    test = _find(folder, "testA_click_log.csv")
    articles = _find(folder, "articles.csv")
    embeddings = _find(folder, "articles_emb.csv")
    embedding_id, embedding = _embeddings(embeddings) if embeddings else (None, None)
    return NewsTables(
        train=read(Source(train), clicks),
        test=read(Source(test), clicks) if test else None,
        articles=read(Source(articles), {**ARTICLES, "created_at_ts": f"{time_unit}?"}, may_be_empty=True)
        if articles
        else None,
        embedding_id=embedding_id,
        embedding=embedding,
    )


def write_news(tables: NewsTables, folder: Path) -> None:
    """Write the folder that ``read_news`` reads back unchanged, as plain CSV; files that are there are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(tables.train, folder / "train_click_log.csv")
    if tables.test is not None:
        _write(tables.test, folder / "testA_click_log.csv")
    if tables.articles is not None:
        _write(tables.articles, folder / "articles.csv")
    if tables.embedding is not None and tables.embedding_id is not None:
        numbers = {f"emb_{d}": column for d, column in enumerate(tables.embedding.T)}
        _write({"article_id": tables.embedding_id, **numbers}, folder / "articles_emb.csv")


def _find(folder: Path, *names: str) -> Path | None:
    there = {path.name for path in folder.iterdir()}  # a link that leads nowhere too, so that reading it tells
    found = [folder / (name + end) for name in names for end in ("", ".gz") if name + end in there]
    if len(found) > 1:
        raise InputError(f"{folder} holds both {found[0].name} and {found[1].name}: keep one of them")
    return found[0] if found else None


def _embeddings(path: Path) -> tuple[Longs, Floats]:
    header = bytes(content(path)[: 1 << 20]).split(b"\n", 1)[0].decode("utf-8-sig", errors="replace")
    names = [name.strip().strip('"') for name in header.split(",")]
    numbered = sorted((int(name[4:]), name) for name in names if re.fullmatch(r"emb_\d+", name))
    if not numbered:
        raise InputError(f"{path}: column 'emb_0' is missing: the columns must be article_id, emb_0, emb_1 …")
    columns = [name for _, name in numbered]
    table = read(Source(path), {"article_id": "whole", **dict.fromkeys(columns, "number?")}, may_be_empty=True)
    matrix = np.empty((len(table["article_id"]), len(columns)), dtype=np.float32)
    for d, name in enumerate(columns):
        matrix[:, d] = table[name]
    return table["article_id"], matrix


def _write(columns: Columns, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv as pacsv

    unfinished = path.with_name(path.name + ".tmp")
    pacsv.write_csv(pa.table(dict(columns)), unfinished, pacsv.WriteOptions(quoting_style="none"))
    unfinished.replace(path)

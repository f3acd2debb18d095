"""Tables of texts and judgements: CSV, TSV, JSON lines and TREC's formats, plain or gzipped, all values as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.errors import InputError, did_you_mean
from recx.core.given_folds import fold_of
from recx.core.precision import WHOLE, floats_of, is_inexact
from recx.parts.dataset.files import read_text, refuse_first
from recx.parts.dataset.judgements import LARGEST
from recx.parts.dataset.search_order import RANKS, SCORES, unusual_names
from recx.storage.readers.content import content
from recx.storage.readers.json import read_json_lines
from recx.storage.readers.lists import DOCUMENT_ID, GRADE, QUERY_ID
from recx.storage.readers.names import column_of_grades
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import layouts
from recx.storage.readers.tables import read_texts as all_texts
from recx.storage.readers.untitled import read_untitled

if TYPE_CHECKING:
    import pandas as pd

Roles = Mapping[str, tuple[str, ...]]
"""Role -> possible names of its column, the preferred one first. A ``?`` after a role: the column is optional."""

PAIR: Roles = {"query": (*QUERY_ID, "query", "user"), "document": (*DOCUMENT_ID, "document", "item")}
ROLES: Mapping[str, Roles] = {
    "queries": {
        "query": (*QUERY_ID, "_id", "id", "query"),
        "text": ("text", "query_text", "question", "title", "query"),
        "part?": ("part", "split"),
    },
    "documents": {
        "document": (*DOCUMENT_ID, "_id", "id", "document"),
        "text": ("text", "body", "contents", "content", "abstract", "passage", "document"),
        "title?": ("title",),
    },
    "grades": {**PAIR, "grade?": GRADE},
    "candidates": {**PAIR, "score?": SCORES, "rank?": RANKS},
}
"""Table -> its roles."""

STEMS: Mapping[str, tuple[str, ...]] = {
    "queries": ("queries", "topics"),
    "documents": ("documents", "corpus", "docs", "collection"),
    "grades": ("grades", "qrels", "relevance", "judgments", "judgements"),
    "candidates": ("candidates", "run"),
}
"""Table -> usual names of its file, without the ending."""

TREC = {"grades": "relevance", "candidates": "recommendations"}
"""Table -> what it is to ``recx.storage.readers.untitled``, which reads it without a header."""

_BLANK = b"\xef\xbb\xbf \t\r\n"
_ELEMENT = re.compile(r"<(?:top|doc)>(.*?)</(?:top|doc)>", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"<(?:num|docno)>\s*(?:Number:)?\s*([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*(?:Topic:)?\s*([^<]*)", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


def files_of(folder: Path, name: str | None, table: str) -> list[Path]:
    """Return the files of a table: one, none, or one for each part, as MS MARCO's qrels.train.tsv and qrels.dev.tsv.

    Args:
        folder: where the files are.
        name: name of the file; None or "": a usual one (see ``STEMS``).
        table: a key of ``STEMS``.

    Raises:
        InputError: several files have a usual name, and not each that of a part of its own.
    """
    if name:
        return [folder / name]
    found = [file for file in sorted(folder.iterdir()) if file.name.split(".")[0].lower() in STEMS[table]]
    if len(found) > 1 and not _of_parts(found, table):
        raise InputError(
            f"{folder} has both {found[0].name} and {found[1].name}: choose one with dataset.{table}={found[0].name}"
        )
    return found


def _of_parts(files: Sequence[Path], table: str) -> bool:
    """Return whether several files are one table: grades of a part each, or queries, of which any may lack grades."""
    parts = [part_in_name(file) for file in files]
    if table == "queries":
        return all(part or file.name.split(".")[1] == "eval" for part, file in zip(parts, files, strict=True))
    return table == "grades" and None not in parts and len(set(parts)) == len(parts)


def part_in_name(file: Path) -> str | None:
    """Return the part that a file of a table is of by its name, such as valid for qrels.dev.small.tsv, or None."""
    return fold_of(file.name.split(".")[1]) if file.name.count(".") > 1 else None


def read_texts(path: Path, table: str) -> pd.DataFrame:
    """Return a table with a column for each role that the file has: numbers for grade, score and rank, else texts.

    Args:
        path: the file.
        table: a key of ``ROLES``.

    Raises:
        InputError: the file cannot be read, it lacks a column or an id, or a number is not valid.
    """
    if path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson", ".json")):
        frame = _renamed(_json_lines(path), table, path)
    else:
        frame = _text(path, table)
    for role in frame.columns.intersection(["query", "document"]):
        _require_ids(frame[role], role, path)
    if not len(frame):
        raise InputError(f"{path} has no rows: provide at least one")
    for role in frame.columns.intersection(["grade", "score", "rank"]):
        frame[role] = _numbers(frame[role], role, path)
    return frame


def grades_in_parts(files: Sequence[Path]) -> dict[Path, str]:
    """Return the files of grades that say of which part their queries are: file -> part; {} if they do not.

    These are the files of a folder, such as BEIR's train.tsv, dev.tsv and test.tsv, or those whose names say it, such
    as MS MARCO's qrels.dev.small.tsv.

    Raises:
        InputError: A file in a folder is called otherwise, or there is none.
    """
    if len(files) == 1 and files[0].is_dir():
        return _files_of_parts(files[0])
    return {file: part for file in files if (part := part_in_name(file)) is not None}


def _files_of_parts(folder: Path) -> dict[Path, str]:
    found = {}
    for file in sorted(one for one in folder.iterdir() if not one.name.startswith(".")):
        part = fold_of(file.name.partition(".")[0])
        if part is None:
            raise InputError(
                f"{file}: its name is none of train, valid (dev) and test, which say whose grades a file of a folder "
                f"has: rename it, or name one file, such as dataset.grades={folder.name}/{file.name}"
            )
        found[file] = part
    if not found:
        raise InputError(f"{folder} has no file of grades, such as test.tsv: name it with dataset.grades=FILE")
    return found


def read_parts(parts: Mapping[Path, str]) -> pd.DataFrame:
    """Return the grades of several files with a column ``part``.

    Args:
        parts: File -> the part of its queries: train, valid or test.

    Raises:
        InputError: A file cannot be read, or two of them have grades of one query.
    """
    import pandas as pd

    frames = []
    for file, part in parts.items():
        frame = read_texts(file, "grades").assign(part=part)
        frames.append(frame if "grade" in frame else frame.assign(grade=1.0))
    grades = pd.concat(frames, ignore_index=True)
    of_query = grades[["query", "part"]].drop_duplicates()
    twice = of_query["query"][of_query["query"].duplicated()]
    if len(twice):
        of_both = " and ".join(of_query["part"][of_query["query"] == twice.iloc[0]])
        folder = next(iter(parts)).parent
        raise InputError(
            f"{folder}: the query {twice.iloc[0]!r} has grades in {of_both}: leave it in one of these files"
        )
    return grades


def _require_ids(ids: pd.Series[str], role: str, path: Path) -> None:
    missing = ids.str.strip().isin(["", "nan", "None", "null"]).to_numpy()
    refuse_first(missing, lambda row: f"{path}, row {row + 1}: the {role}'s id is missing: correct it")


def _numbers(texts: pd.Series[str], role: str, path: Path) -> pd.Series[float]:
    numbers = _as_numbers(texts)
    written = texts[numbers.abs() >= WHOLE] if numbers.dtype.kind == "f" else ()
    merging = next((text for text in written if isinstance(text, str) and is_inexact(text)), None)
    if merging is not None:
        raise InputError(
            f"{path}: the {role} {merging} has more digits than float64 holds, so that it would become equal to its "
            "neighbours: subtract a constant, or give ranks"
        )
    if role != "grade":
        floats_of(numbers.to_numpy(), f"{path}: the {role}")  # refuses what float64 does not hold
    numbers = numbers.astype(float)
    refuse_first(
        ~numbers.abs().le(LARGEST).to_numpy(),
        lambda row: f"{path}, row {row + 1}: the {role} {texts.iloc[row]!r} is not a number within float32: correct it",
    )
    return numbers


def _as_numbers(texts: pd.Series[str]) -> pd.Series[float]:
    import pandas as pd

    return pd.to_numeric(texts, errors="coerce")


def _json_lines(path: Path) -> pd.DataFrame:
    import pandas as pd

    records = []
    for number, record in read_json_lines(path):
        if not isinstance(record, dict):
            raise InputError(
                f'{path}, line {number}: it must be an object such as {{"id": ..., "text": ...}}: correct it'
            )
        records.append({key: value for key, value in record.items() if not isinstance(value, dict | list)})
    frame = pd.DataFrame(records, dtype=object)
    return frame.map(str).where(frame.notna(), "")


def _text(path: Path, table: str) -> pd.DataFrame:
    data = content(path)
    if table in ("queries", "documents") and bytes(data[:64]).lstrip(_BLANK)[:5].lower() in (b"<top>", b"<doc>"):
        return _elements(read_text(path), table, path)
    if bytes(data[:4]) == b"PAR1":
        raise InputError(f"{path} is Parquet: provide CSV, TSV, JSON lines or TREC's format")
    found = layouts(path, data)
    mark = "\t" if "\t" in found else ","
    names = {name.lower() for name in found.get(mark, next(iter(found.values())))}
    required = {role: called for role, called in ROLES[table].items() if not role.endswith("?")}
    if any(names.intersection(called) for called in required.values()):
        return _renamed(all_texts(Source(path, mark, data=data)).to_pandas(), table, path)
    frame = None
    if table in TREC:
        untitled = read_untitled(path, data, TREC[table])
        frame = None if untitled is None else _in_our_words(untitled)
    elif len(found.get(mark, ())) == 2:
        frame = all_texts(Source(path, mark, tuple(required), data=data)).to_pandas()
    if frame is None:
        raise InputError(
            f"{path}: its first line is neither a header with the columns {', '.join(required)} nor a line of TREC's "
            "format: provide CSV, TSV, JSON lines or TREC's format, and name the columns"
        )
    return frame


def _in_our_words(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns={"user": "query", "item": "document"})


def _renamed(frame: pd.DataFrame, table: str, path: Path) -> pd.DataFrame:
    """Return the columns that have a role, named after it."""
    known = {str(column).strip().lower(): column for column in frame.columns}
    chosen: dict[str, str] = {}
    for role, called in ROLES[table].items():
        name = next((name for name in called if name in known and known[name] not in chosen.values()), None)
        if name is not None:
            chosen[role.removesuffix("?")] = known[name]
        elif not role.endswith("?"):
            raise InputError(
                f"{path}: there is no column for the {role}, such as {called[0]!r}; {did_you_mean(called[0], known)}"
            )
    if table == "grades" and "grade" not in chosen:
        rest = [str(column) for column in frame.columns.difference(list(chosen.values()), sort=False)]
        graded = column_of_grades(rest, lambda other: bool((_as_numbers(frame[other]) == 1).all()), str(path))
        chosen |= {} if graded is None else {"grade": graded}
    if table == "candidates" and not {"score", "rank"} & chosen.keys():
        rest = [str(column) for column in frame.columns.difference(list(chosen.values()), sort=False)]
        chosen |= unusual_names(rest, str(path))
    return frame[list(chosen.values())].set_axis(list(chosen), axis=1)


def _elements(text: str, table: str, path: Path) -> pd.DataFrame:
    """Return the topics or documents of a file in TREC's markup."""
    import pandas as pd

    rows = []
    for place, body in enumerate(_ELEMENT.findall(text), start=1):
        number = _NUMBER.search(body)
        if number is None:
            raise InputError(f"{path}, entry {place}: it has no <num> or <DOCNO>: correct it")
        title = _TITLE.search(body)
        rest = _TAG.sub(" ", body[number.end() :])
        rows.append((number.group(1), title.group(1) if title and table == "queries" else rest))
    frame = pd.DataFrame(rows, columns=["query" if table == "queries" else "document", "text"], dtype=object)
    return frame.assign(text=frame["text"].str.split().str.join(" "))

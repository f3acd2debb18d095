"""Tables of texts and judgements: CSV, TSV, JSON lines and TREC's formats, plain or gzipped, all values as text."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.errors import InputError, did_you_mean
from recx.parts.dataset.judgements import LARGEST
from recx.storage.readers.json import read_json_lines
from recx.storage.readers.tables import content

if TYPE_CHECKING:
    import pandas as pd

Roles = Mapping[str, tuple[str, ...]]
"""Role -> what its column may be called, the best name first. A ``?`` behind a role: the column may be absent."""

QUERY_ID, DOCUMENT_ID = ("query_id", "qid", "query-id"), ("document_id", "doc_id", "docid", "docno", "corpus-id", "pid")
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
    "grades": {
        "query": (*QUERY_ID, "query", "user"),
        "document": (*DOCUMENT_ID, "document", "item"),
        "grade?": ("grade", "relevance", "rel", "label", "score"),
    },
    "candidates": {
        "query": (*QUERY_ID, "query", "user"),
        "document": (*DOCUMENT_ID, "document", "item"),
        "score?": ("score",),
    },
}
"""Table -> its roles."""

STEMS: Mapping[str, tuple[str, ...]] = {
    "queries": ("queries", "topics"),
    "documents": ("documents", "corpus", "docs", "collection"),
    "grades": ("grades", "qrels", "relevance", "judgments", "judgements"),
    "candidates": ("candidates", "run"),
}
"""Table -> what its file is called in a folder, but for the ending."""

TREC: Mapping[str, Mapping[int, tuple[str | None, ...]]] = {
    "queries": {2: ("query", "text")},
    "documents": {2: ("document", "text")},
    "grades": {4: ("query", None, "document", "grade"), 3: ("query", "document", "grade")},
    "candidates": {6: ("query", None, "document", None, "score", None), 5: ("query", None, "document", None, "score")},
}
"""Table -> number of fields of a file without a header -> their roles. Texts stand behind a tab."""

_ELEMENT = re.compile(r"<(?:top|doc)>(.*?)</(?:top|doc)>", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"<(?:num|docno)>\s*(?:Number:)?\s*([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*(?:Topic:)?\s*([^<]*)", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


def file_of(folder: Path, name: str, table: str) -> Path | None:
    """Return the file of a table: the one that is named, or the one of a usual name in the folder; None: there is none.

    Raises:
        InputError: several files have a usual name.
    """
    if name:
        return folder / name
    found = [file for file in sorted(folder.iterdir()) if file.name.split(".")[0].lower() in STEMS[table]]
    if len(found) > 1:
        raise InputError(
            f"{folder} has both {found[0].name} and {found[1].name}: say which with dataset.{table}={found[0].name}"
        )
    return found[0] if found else None


def read_texts(path: Path, table: str) -> pd.DataFrame:
    """Return a table of ``ROLES`` with a column of texts for each role that the file has.

    Raises:
        InputError: the file cannot be read, or lacks a column or an id.
    """
    import pandas as pd

    name = path.name.removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson", ".json")):
        frame = _renamed(_json_lines(path), table, path)
    else:
        frame = _text(path, table)
    for role in ("query", "document"):
        if role in frame:
            missing = frame[role].str.strip().isin(["", "nan", "None", "null"])
            if missing.any():
                raise InputError(
                    f"{path}, row {int(missing.to_numpy().argmax()) + 1}: the {role}'s id is missing: correct it"
                )
    if not len(frame):
        raise InputError(f"{path} has no rows: give at least one")
    for role in ("grade", "score"):
        if role in frame:
            number = pd.to_numeric(frame[role], errors="coerce").astype(float)
            bad = ~number.abs().le(LARGEST)
            if bad.any():
                row = int(bad.to_numpy().argmax())
                raise InputError(
                    f"{path}, row {row + 1}: the {role} {frame[role].iloc[row]!r} is no number that float32 can hold: "
                    "correct it"
                )
            frame[role] = number
    return frame


def _json_lines(path: Path) -> pd.DataFrame:
    import pandas as pd

    records = []
    for number, record in read_json_lines(path):
        if not isinstance(record, dict):
            raise InputError(
                f'{path}, line {number}: it must be an object such as {{"id": ..., "text": ...}}: correct it'
            )
        records.append({key: value for key, value in record.items() if not isinstance(value, dict | list)})
    return pd.DataFrame(records, dtype=object).map(lambda value: "" if value is None or value != value else str(value))


def _text(path: Path, table: str) -> pd.DataFrame:
    data = bytes(content(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start + 1}): save it as UTF-8") from error
    if table in ("queries", "documents") and text.lstrip()[:5].lower() in ("<top>", "<doc>"):
        return _elements(text, table, path)
    first = text.lstrip("\r\n").partition("\n")[0].rstrip("\r")
    mark = "\t" if "\t" in first else ","
    header = next(csv.reader([first], delimiter=mark), [])
    if _has_header(header, table):
        return _renamed(_separated(text, mark, path, header=True), table, path)
    fields = header if (mark == "\t" and len(header) > 1) or table in ("queries", "documents") else first.split()
    roles = TREC[table].get(len(fields))
    if roles is None:
        raise InputError(
            f"{path}: its first line is neither a header with the columns "
            f"{', '.join(role for role in ROLES[table] if not role.endswith('?'))} nor a line of TREC's format: give "
            "CSV, TSV, JSON lines or TREC's format, and name the columns"
        )
    frame = _separated(text, mark if len(fields) == len(header) else r"\s+", path, header=False)
    return frame[[place for place, role in enumerate(roles) if role]].set_axis([role for role in roles if role], axis=1)


def _has_header(header: list[str], table: str) -> bool:
    names = {name.strip().lower() for name in header}
    required = [names & set(called) for role, called in ROLES[table].items() if not role.endswith("?")]
    return any(required)


def _separated(text: str, mark: str, path: Path, *, header: bool) -> pd.DataFrame:
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # of a row that is too long, whose end is dropped
            frame = pd.read_csv(
                io.StringIO(text),
                sep=mark,
                header=0 if header else None,
                index_col=False,
                dtype=str,
                keep_default_na=False,
                quoting=csv.QUOTE_MINIMAL if mark == "," else csv.QUOTE_NONE,  # between tabs a quote is a quote
            )
            return frame.fillna("")  # of a row that is too short
    except (ValueError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
        reason = str(error).strip().splitlines()[-1].removesuffix(".")
        raise InputError(f"{path} cannot be read as a table ({reason}): correct the row") from error


def _renamed(frame: pd.DataFrame, table: str, path: Path) -> pd.DataFrame:
    """Return the columns that play a role, called by it."""
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

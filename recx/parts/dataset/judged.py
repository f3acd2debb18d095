"""Queries, documents and grades of relevance, with texts: CSV, JSON lines, BEIR's and TREC's files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.nouns import OF_SEARCH
from recx.core.types import Interactions
from recx.parts.dataset.files import expand_home, require_folder, require_path
from recx.parts.dataset.judged_files import STEMS, files_of, grades_in_parts, read_parts, read_texts
from recx.parts.dataset.judgements import Pairs, judged
from recx.parts.dataset.search_order import worth_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Judged:
    """Judged documents. A user is a query, an item a document, both with a ``text``; a slate is a query's documents.

    A column ``part`` of the queries (train, valid, test) is used by ``split=by_query``.

    Attributes:
        path: a folder.
        queries: file of the queries; None: the one with a usual name, such as queries.csv, or those of all parts, such
            as queries.train.tsv and queries.dev.tsv.
        documents: file of the documents; None: the one with a usual name, such as documents.jsonl.
        grades: file of the grades; None: the one with a usual name, such as qrels.txt. If it is a folder of train.tsv,
            dev.tsv and test.tsv, or some of them, as BEIR's, or left out where the names of files say a part, as MS
            MARCO's qrels.train.tsv and qrels.dev.small.tsv, these give the queries their ``part``, and a query without
            a grade is left out and counted (``queries_without_grades``).
        candidates: file of the documents that a first search found for each query (a TREC run, or columns query,
            document and optionally score and rank). These are then the slates, in the search's order, with the column
            ``search_score`` (the score, or else minus the rank), and a document without a grade counts as not relevant.
            None: ``candidates.*`` or ``run.*`` if there is one.
    """

    nouns: ClassVar = OF_SEARCH
    reads: ClassVar = tuple(f"{stem}{end}" for stems in STEMS.values() for stem in stems for end in ("", ".*"))
    """The files in a folder that count (see ``recx.storage.cache.keys``)."""

    path: str | None = None
    queries: str | None = None
    documents: str | None = None
    grades: str | None = None
    candidates: str | None = None

    @property
    def depends_on(self) -> list[Path]:
        """The named files, which may lie outside the folder, and folders in it (see ``recx.storage.cache.keys``)."""
        if not self.path:
            return []
        folder, named = expand_home(self.path), (self.queries, self.documents, self.grades, self.candidates)
        inner = [folder / stem for stem in STEMS["grades"] if not self.grades and (folder / stem).is_dir()]
        return [*(folder / name for name in named if name), *inner]

    def load(self) -> Interactions:
        """Return the judged documents: see ``recx.parts.dataset.judgements``.

        Grades of queries or documents that the other files lack are left out and counted
        (``grades_of_unknown_queries``, ``grades_of_unknown_documents``), as are repeated ids.

        Raises:
            InputError: a file is missing or cannot be used, or no grade belongs to a known query and document.
        """
        folder = require_folder(require_path(self.path, "FOLDER"))
        queries, documents, grades = (self._read(folder, name) for name in ("queries", "documents", "grades"))
        left_out: dict[str, int] = {}
        if "part" in grades:
            queries, left_out["queries_without_grades"] = _with_parts(queries, grades, folder)
        users, notes = _entities(queries, "query", "queries")
        items, more = _entities(documents, "document", "documents")
        graded, unknown = _pairs(grades, users, items, "grades")
        if not len(graded.user):
            raise InputError(
                f"{folder}: no grade belongs to a query and a document of the other files: compare the ids"
            )
        offered = None
        if self.candidates or files_of(folder, None, "candidates"):
            offered, lost = _pairs(self._read(folder, "candidates"), users, items, "candidates")
            unknown |= lost
        made = judged(graded, users, items, offered)
        return replace(made, notes={**notes, **left_out, **more, **unknown, **made.notes})

    def _read(self, folder: Path, table: str) -> pd.DataFrame:
        import pandas as pd

        named: str | None = getattr(self, table)
        files = files_of(folder, named, table)
        if not files:
            raise InputError(f"{folder} has no file of {table}, such as {table}.csv: name it with dataset.{table}=FILE")
        parts = grades_in_parts(files) if table == "grades" and (not named or files[0].is_dir()) else {}
        if parts:
            return read_parts(parts)
        frames = [read_texts(file, table) for file in files]
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def _with_parts(queries: pd.DataFrame, grades: pd.DataFrame, folder: Path) -> tuple[pd.DataFrame, int]:
    """Return the queries that have grades, with the part that these are of, and how many have none.

    Raises:
        InputError: The queries have parts of their own.
    """
    if "part" in queries:
        raise InputError(
            f"{folder}: the queries have a column of parts, and the files of grades are parts too: drop the column, or "
            "name one file with dataset.grades=FILE"
        )
    part = queries["query"].map(dict(zip(grades["query"], grades["part"], strict=True)))
    graded = part.notna()
    return queries[graded].assign(part=part[graded]), int((~graded).sum())


def _entities(frame: pd.DataFrame, role: str, whose: str) -> tuple[Entities, dict[str, int]]:
    """Return the queries or documents, sorted by id so that a number does not reveal the file's order."""
    again = frame.duplicated(role)
    frame = frame[~again].sort_values(role, kind="stable")
    text = frame["text"] if "title" not in frame else (frame["title"] + " " + frame["text"]).str.strip()
    table = {"text": text.to_numpy(dtype=object)}
    if "part" in frame:
        table["part"] = frame["part"].str.strip().to_numpy(dtype=object)
    notes = {f"{whose}_twice": int(again.sum()), f"{whose}_without_text": int((text.str.strip() == "").sum())}
    return Entities(frame[role].to_numpy(dtype=object), table), notes


def _pairs(frame: pd.DataFrame, users: Entities, items: Entities, table: str) -> tuple[Pairs, dict[str, int]]:
    import pandas as pd

    user = pd.Index(users.ids).get_indexer(pd.Index(frame["query"]))
    item = pd.Index(items.ids).get_indexer(pd.Index(frame["document"]))
    default = np.full(len(frame), float(table == "grades"))
    grade = frame["grade"].to_numpy(dtype=np.float64) if "grade" in frame else default
    known = (user >= 0) & (item >= 0)
    score, rank = (frame[name].to_numpy(np.float64)[known] if name in frame else None for name in ("score", "rank"))
    worth = worth_of(user[known], score, rank, f"dataset.{table}")
    columns = {} if worth is None else {"search_score": worth if score is None else score}
    notes = {
        f"{table}_of_unknown_queries": int((user < 0).sum()),
        f"{table}_of_unknown_documents": int((item < 0).sum()),
    }
    return Pairs(user[known], item[known], grade[known], columns, worth), notes

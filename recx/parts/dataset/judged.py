"""Queries, documents and grades of relevance, with texts: CSV, JSON lines, BEIR's and TREC's files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.types import Array, Interactions
from recx.parts.dataset.events import at_home, require_path
from recx.parts.dataset.judged_files import file_of, read_texts
from recx.parts.dataset.judgements import Pairs, judged
from recx.storage.readers.tables import is_folder

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Judged:
    """A user is a query, an item a document, both with a ``text``. A query's slate are its judged documents.

    path: a folder. queries, documents, grades: files in it; None: those of a usual name, such as queries.csv,
    documents.jsonl and qrels.txt. candidates: a file of the documents that a first search found for each query (a run
    of TREC, or columns query, document and perhaps score): they then are the slates, with the column ``search_score``,
    and a document without a grade counts as not relevant; None: ``candidates.*`` or ``run.*`` where there is one.
    A column ``part`` of the queries (train, valid, test) is for ``split=by_query``.
    """

    path: str | None = None
    queries: str | None = None
    documents: str | None = None
    grades: str | None = None
    candidates: str | None = None

    @property
    def depends_on(self) -> list[Path]:
        """The files that are named, which may lie outside the folder (see ``recx.storage.cache.keys``)."""
        named = (self.queries, self.documents, self.grades, self.candidates)
        return [at_home(self.path) / name for name in named if self.path and name]

    def load(self) -> Interactions:
        """Return the judged documents: see ``recx.parts.dataset.judgements``.

        Grades of queries or documents that the other files do not have are left out and counted
        (``grades_of_unknown_queries``, ``grades_of_unknown_documents``), as are further rows of an id.

        Raises:
            InputError: a file is missing or cannot be used, or no grade is of a known query and document.
        """
        folder = require_path(self.path, "FOLDER")
        if not is_folder(folder):
            raise InputError(
                f"dataset.path={self.path}: there is no such folder: name one with queries, documents and grades"
            )
        queries, documents = self._read(folder, "queries"), self._read(folder, "documents")
        users, notes = _entities(queries, "query", "queries")
        items, more = _entities(documents, "document", "documents")
        graded, unknown = _pairs(self._read(folder, "grades"), users, items, "grades")
        if not len(graded.user):
            raise InputError(
                f"{folder}: no grade is of a query and a document that the other files have: compare the ids"
            )
        offered = None
        if self.candidates or file_of(folder, "", "candidates") is not None:
            offered, lost = _pairs(self._read(folder, "candidates"), users, items, "candidates")
            unknown |= lost
        made = judged(graded, users, items, offered)
        return replace(made, notes={**notes, **more, **unknown, **made.notes})

    def _read(self, folder: Path, table: str) -> pd.DataFrame:
        file = file_of(folder, getattr(self, table) or "", table)
        if file is None:
            raise InputError(f"{folder} has no file of {table}, such as {table}.csv: name it with dataset.{table}=FILE")
        return read_texts(file, table)


def _entities(frame: pd.DataFrame, role: str, whose: str) -> tuple[Entities, dict[str, int]]:
    """Return the queries or documents, sorted by id so that a number says nothing of the file's order."""
    again = frame.duplicated(role)
    frame = frame[~again].sort_values(role, kind="stable")
    text = frame["text"] if "title" not in frame else (frame["title"] + " " + frame["text"]).str.strip()
    table: dict[str, Array] = {"text": text.to_numpy(dtype=object)}
    if "part" in frame:
        table["part"] = frame["part"].str.strip().to_numpy(dtype=object)
    notes = {f"{whose}_twice": int(again.sum()), f"{whose}_without_text": int((text.str.strip() == "").sum())}
    return Entities(frame[role].to_numpy(dtype=object), table), notes


def _pairs(frame: pd.DataFrame, users: Entities, items: Entities, table: str) -> tuple[Pairs, dict[str, int]]:
    import pandas as pd

    user = pd.Index(users.ids).get_indexer(pd.Index(frame["query"]))
    item = pd.Index(items.ids).get_indexer(pd.Index(frame["document"]))
    grade = np.ones(len(frame)) if table == "grades" else np.zeros(len(frame))
    if "grade" in frame:
        grade = frame["grade"].to_numpy(dtype=np.float64)
    columns = {}
    if "score" in frame:
        columns["search_score"] = frame["score"].to_numpy(dtype=np.float32)
    notes = {
        f"{table}_of_unknown_queries": int((user < 0).sum()),
        f"{table}_of_unknown_documents": int((item < 0).sum()),
    }
    return Pairs(user, item, grade, columns).take((user >= 0) & (item >= 0)), notes

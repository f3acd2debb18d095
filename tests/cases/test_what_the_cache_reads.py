"""The cache hashes the files that a dataset reads and no others, and says so where that takes long."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recx.parts.dataset.agents import Agents
from recx.parts.dataset.judged import Judged
from recx.parts.dataset.mind import Mind
from recx.parts.dataset.movielens import MovieLens
from recx.parts.dataset.news import News
from recx.parts.dataset.svmlight import Svmlight
from recx.parts.dataset.tool_selection import ToolSelection
from recx.storage.cache import keys

DATASETS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "news": (
        News,
        ("train_click_log.csv", "clicks.parquet", "testA_click_log.csv", "articles.csv", "articles_emb.csv"),
    ),
    "movielens": (MovieLens, ("u.data", "ratings.dat", "ratings.csv", "ml-100k.inter")),
    "mind": (Mind, ("behaviors.tsv", "news.tsv")),
    "judged": (Judged, ("queries.csv", "Corpus.jsonl", "qrels.txt", "run.trec", "docs")),
    "agents": (
        Agents,
        ("tool_pool.json", "tool_calling_graphs.json", "node_candidates.json", "graph_selection_results.json"),
    ),
    "tool_selection": (ToolSelection, ("tool_pool.json", "tool_selection.json")),
    "svmlight": (Svmlight, ("train.txt", "mq.Vali.txt", "test.svm", "train.txt.query", "mq.train.dat.group", "test")),
}
"""Dataset -> its class, and files in a folder that it may read."""


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files that are hashed, as they are."""
    names: list[str] = []
    original = keys._key_of_file

    def hashed(file: Path, state: tuple[int, ...]) -> str:
        names.append(file.name)
        return original(file, state)

    monkeypatch.setattr(keys, "_key_of_file", hashed)
    return names


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("end", ["", ".gz"])
def test_what_a_dataset_reads_counts_and_nothing_else(here: Path, read: list[str], name: str, end: str) -> None:
    kind, files = DATASETS[name]
    folder = here / "d"
    folder.mkdir()
    before = keys.key_of(kind(path="d"))
    for file in files:
        (folder / f"{file}{end}").write_bytes(gzip.compress(b"1") if end else b"1")
        after = keys.key_of(kind(path="d"))
        assert after != before, file
        before = after
    (folder / "backup.tar").write_text("not read")
    (folder / "notes").mkdir()
    (folder / "notes" / files[0]).write_text("not read")
    (folder / "root").symlink_to("/")
    os.mkfifo(folder / "pipe")
    read.clear()
    assert keys.key_of(kind(path="d")) == before
    assert sorted(read) == sorted(f"{file}{end}" for file in files)
    shutil.move(folder, here / "elsewhere")
    assert keys.key_of(kind(path="elsewhere")) == before
    (here / "elsewhere" / f"{files[-1]}{end}").unlink()
    assert keys.key_of(kind(path=str(here / "elsewhere"))) != before


@dataclass(frozen=True)
class Undeclared:
    path: str | None = None


@dataclass(frozen=True)
class Silent(Undeclared):
    reads = ("*.npy",)


def test_a_folder_of_unknown_use_counts_as_a_whole_but_not_what_lies_above_it(here: Path, read: list[str]) -> None:
    (here / "d" / "inner").mkdir(parents=True)
    (here / "d" / "inner" / "x").write_text("1")
    (here / "away").mkdir()
    (here / "away" / "y").write_text("1")
    (here / "d" / "link").symlink_to(here / "away")
    for name, target in (("root", "/"), ("up", here), ("self", here / "d")):
        (here / "d" / name).symlink_to(target)
    keys.key_of(Undeclared(path="d"))
    assert sorted(read) == ["x", "y"]
    read.clear()
    keys.key_of(Silent(path="d"))
    assert read == []


def test_long_hashing_is_said(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(keys, "say", said.append)
    (here / "d").mkdir()
    for name in ("u.data", "ratings.csv"):
        (here / "d" / name).write_text("12")
    keys.key_of(MovieLens(path="d"))
    assert said == []
    monkeypatch.setattr(keys, "PATIENCE", -1.0)
    monkeypatch.setattr(keys, "LARGE", 1)
    (here / "d" / "u.data").write_text("123")
    keys.key_of(MovieLens(path="d"))
    assert said == [
        "  the cache compares the files in d with those of earlier runs (cache=off does without)",
        "  the cache reads d/u.data, 0.0 GB, to know it again (cache=off does without)",
    ]

"""Bad input through the command line: one sentence and exit code 2, or a run that goes on and counts what was odd."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from recx.cli import main
from recx.core.errors import InputError
from recx.core.protocols import Dataset
from recx.experiment import saved_runs
from recx.parts.dataset.movielens import MovieLens
from recx.parts.dataset.news import News
from recx.parts.dataset.sequences import Sequences
from recx.parts.dataset.table import Table

START = 1_507_000_000_000
NEWS = "user_id,click_article_id,click_timestamp"
Content = bytes | str | Callable[[Path], object]


def clicks(header: str = "user,item,time", mark: str = ",", start: int = START) -> str:
    """Return a log of 30 users with four clicks each on 12 items, times rising."""
    draw = random.Random(0)
    rows = [header] if header else []
    for user in range(30):
        for step, item in enumerate(draw.sample(range(100, 112), 4)):
            rows.append(mark.join(map(str, (user, item, start + user * 1_000 + step * 60_000))))
    return "\n".join(rows) + "\n"


RATINGS = "".join(
    f"{u}\t{i}\t4\t{t}\n" for u, i, t in (row.split() for row in clicks("", " ", 881_250_949).splitlines())
)
SEQUENCES = "".join(
    f"u{user} " + " ".join(str((user * 5 + step * 7) % 12) for step in range(5)) + "\n" for user in range(30)
)
FILES = {
    "news": ("d/train_click_log.csv", clicks(NEWS)),
    "table": ("t.csv", clicks()),
    "movielens": ("u.data", RATINGS),
    "sequences": ("s.txt", SEQUENCES),
}
"""Dataset -> the file it reads and its usual contents."""

DATASETS: dict[str, Callable[..., Dataset]] = {
    "news": partial(News, path="d"),
    "table": partial(Table, path="t.csv", time="time"),
    "movielens": partial(MovieLens, path="u.data"),
    "sequences": partial(Sequences, path="s.txt"),
}
WORDS = {
    "news": ["dataset.path=d"],
    "table": ["dataset.path=t.csv", "dataset.time=time"],
    "movielens": ["dataset.path=u.data"],
    "sequences": ["dataset.path=s.txt"],
}
"""The same datasets, as the command line names them."""

ARTICLES = "article_id,category_id,created_at_ts,words_count\n" + "".join(
    f"{item},{item % 3},{START - 86_400_000},{item}\n" for item in range(100, 112)
)
EMBEDDINGS = "article_id,emb_0,emb_1,emb_2\n" + "".join(
    f"{item},{item % 5},1,-{item % 3}\n" for item in range(100, 112)
)
TEST_A = NEWS + "\n" + "".join(f"{user},{104 + user % 5},{START + user}\n" for user in (505, 500, 501))


def write(folder: Path, files: Mapping[str, Content]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


def refused(door: str, files: Mapping[str, Content], *words: str, **settings: Any) -> None:
    """Check that a dataset refuses these files in one sentence that contains these words."""
    write(Path(), files)
    with pytest.raises(InputError) as error:
        DATASETS[door](**settings).load()
    sentence = str(error.value)
    assert "\n" not in sentence
    for word in words:
        assert word in sentence


class Recx:
    """Runs the command line in this process, in a folder of its own."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.capfd, self.monkeypatch = folder, capfd, monkeypatch

    def __call__(self, experiment: str, files: Mapping[str, Content], words: Sequence[str] = ()) -> tuple[int, str]:
        """Return the exit code and stderr, including that of C libraries."""
        write(self.folder, files)
        command = ["recx", f"+experiment={experiment}", "tracker=console", *words]
        self.monkeypatch.setattr(sys, "argv", command)
        code = main.main()
        return code, self.capfd.readouterr().err

    def notes(self) -> dict[str, Any]:
        """Return the counts on the last run's protocol card."""
        return dict(saved_runs.load("last").protocol["notes"])


@pytest.fixture
def recx(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Recx:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECX_DEBUG", raising=False)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # restored afterwards
    return Recx(tmp_path, capfd, monkeypatch)


def reported(outcome: tuple[int, str], *words: str) -> None:
    """Check that a run ended with exit code 2 and one sentence that contains these words."""
    code, said = outcome
    assert code == 2, said
    assert said.count("\n") == 1, said
    for word in words:
        assert word in said


def link_to_nowhere(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


@pytest.mark.parametrize("door", FILES)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\x00\x01" * 50, "is a binary file"),
        (gzip.compress(b"user,item\n1,2\n"), "is gzipped, contrary to its name"),
        (b"\xff\xfea", "begins as text in UTF-16, but byte 2 is not such"),
        (link_to_nowhere, "is a link to /nowhere/at/all, where there is no file: correct the link"),
        (os.mkfifo, "is not a regular file but a pipe or a device"),
    ],
    ids=["empty", "blank", "binary", "gzipped", "utf-16", "link", "pipe"],
)
def test_a_file_of_another_kind_is_named(here: Path, door: str, content: Content, said: str) -> None:
    name, _ = FILES[door]
    refused(door, {name: content}, name, said)


@pytest.mark.parametrize("door", FILES)
def test_the_command_line_says_it_in_one_sentence(recx: Recx, door: str) -> None:
    name, _ = FILES[door]
    reported(recx(door, {name: b"\x00\x01" * 50}, WORDS[door]), name, "is a binary file")


@pytest.mark.parametrize("door", FILES)
def test_a_path_to_nowhere_is_reported(here: Path, door: str) -> None:
    refused(door, {}, "nowhere", "no such", path="nowhere")
    refused(door, {}, "~nobody-of-that-name/x", "write the path in full", path="~nobody-of-that-name/x")
    refused(door, {}, "x" * 3_000, "cannot be read (", path="x" * 3_000)


def test_a_folder_that_is_a_file_is_reported(here: Path) -> None:
    refused("news", {"d": "x"}, "dataset.path=d is a file: name the folder that holds it")


@pytest.mark.parametrize("name", ["testA_click_log.csv", "articles.csv", "articles_emb.csv"])
def test_a_link_to_nowhere_is_not_a_missing_file(here: Path, name: str) -> None:
    refused("news", {"d/train_click_log.csv": clicks(NEWS), f"d/{name}": link_to_nowhere}, name, "is a link to")


BAD_ROWS = {
    "float id": ("1.0,101,{time}", "'1.0' is a decimal number"),
    "missing id": (",101,{time}", "the value is missing"),
    "nan id": ("NaN,101,{time}", "the value is missing"),
    "missing item": ("1,,{time}", "the value is missing"),
    "missing time": ("1,101,", "the value is missing"),
    "text time": ("1,101,soon", "'soon' is not a time"),
    "negative time": ("1,101,-5", "lies before 1970"),
    "huge time": ("1,101,99999999999999999999", "is too large for a time in"),
    "torn row": ("1,101", "2 columns instead of 3"),
}


@pytest.mark.parametrize("door", ["news", "table", "movielens"])
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_bad_row_is_named_by_its_number(here: Path, door: str, kind: str) -> None:
    name, content = FILES[door]
    row, said = BAD_ROWS[kind]
    row = row.format(time=881_250_949 if door == "movielens" else START)
    if door == "movielens":
        first, second, *rest = row.split(",")
        row = "\t".join([first, second, "4", *rest])
        said = said.replace("2 columns instead of 3", "3 columns instead of 4")
    lines = content.splitlines()
    at = 3 + (door != "movielens")  # after the header
    refused(door, {name: "\n".join([*lines[:at], row, *lines[at:]]) + "\n"}, name, "row 4", said)


@pytest.mark.parametrize("door", ["news", "table", "movielens"])
def test_times_in_another_unit_are_reported_all_or_one(here: Path, door: str) -> None:
    name, content = FILES[door]
    lines = content.splitlines()
    shift: Callable[[str], str] = (lambda line: line + "000") if door == "movielens" else (lambda line: line[:-3])
    unit = "ms" if door == "movielens" else "s"
    header = [] if door == "movielens" else lines[:1]
    rows = lines[len(header) :]
    for odd in ([], rows[5:6]):  # one right row among wrong ones does not make them right
        wrong = "\n".join([*header, *map(shift, rows), *odd]) + "\n"
        refused(door, {name: wrong}, name, f"set dataset.time_unit={unit}")
    single = "\n".join([*header, *rows[:6], shift(rows[6]), *rows[7:]]) + "\n"
    refused(door, {name: single}, name, "row 7", f"counts {unit} where the others count")
    write(here, {name: "\n".join([*header, *map(shift, rows)]) + "\n"})
    assert len(DATASETS[door](time_unit=unit).load()) == 120


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x 1.0 2.0 3.0", "line 31: '1.0' is a decimal number"),
        ("x 1 nan 3", "line 31: the value is missing"),
        ("u3 1 2 3", "user 'u3' is on lines 4 and 31"),
    ],
)
def test_a_bad_sequence_is_named_by_its_line(here: Path, line: str, said: str) -> None:
    refused("sequences", {"s.txt": f"{SEQUENCES}{line}\n"}, "s.txt", said)


@pytest.mark.parametrize("value", ["", "nan", "None", " "])
def test_a_missing_id_in_parquet_is_reported(here: Path, value: str) -> None:
    frame = pd.read_csv(io.StringIO(clicks()), dtype={"user": str})
    frame.loc[4, "user"] = value
    refused("table", {"t.csv": frame.to_parquet}, "column 'user', row 5: the value is missing")


@pytest.mark.parametrize("door", FILES)
def test_a_reader_with_one_click_everywhere_is_reported(recx: Recx, door: str) -> None:
    name, content = FILES[door]
    if door == "sequences":
        alone = "".join(f"{line.split()[0]} {line.split()[1]}\n" for line in content.splitlines())
    else:
        lines = content.splitlines()
        header = 0 if door == "movielens" else 1
        alone = "\n".join([*lines[:header], *lines[header::4]]) + "\n"
    reported(
        recx(door, {name: alone}, WORDS[door]),
        "no user has both a target and the events before it that the split requires",
    )


def test_nothing_to_learn_from_is_bad_input(recx: Recx) -> None:
    one_item = "".join(f"u{user} a a a a\n" for user in range(9))
    reported(recx("sequences", {"s.txt": one_item}, ["dataset.path=s.txt"]), "nothing to learn from", "ranker=identity")
    no_weight = RATINGS.replace("\t4\t", "\t-1\t")
    reported(
        recx("movielens", {"u.data": no_weight}, ["dataset.path=u.data"]), "has a weight above 0", "correct the weights"
    )


def test_everything_seen_is_counted(recx: Recx) -> None:
    rows = "".join(f"{u},{100 + (u + i) % 6},{START + u * 1_000 + i * 60_000}\n" for u in range(20) for i in range(12))
    files = {"d/train_click_log.csv": f"{NEWS}\n{rows}"}
    assert recx("news", files, ["dataset.path=d", "ranker=identity", "n_candidates=100000"]) == (0, "")
    assert saved_runs.load("last").protocol["users"]["judged_without_list"] == 20
    assert saved_runs.load("last").metrics["end_to_end/hit_at_5"] == 0


@pytest.mark.parametrize("door", ["news", "table", "movielens"])
def test_duplicated_rows_are_counted(recx: Recx, door: str) -> None:
    name, content = FILES[door]
    rows = content if door == "movielens" else content.split("\n", 1)[1]
    assert recx(door, {name: content + rows}, WORDS[door]) == (0, "")
    assert recx.notes()["duplicate_rows"] == 120


@pytest.mark.parametrize(
    ("name", "content", "counts"),
    [
        ("articles.csv", None, {"articles_without_metadata": 12, "articles_without_embedding": 0}),
        ("articles.csv", ARTICLES.rsplit("\n", 5)[0] + "\n", {"articles_without_metadata": 4}),
        ("articles_emb.csv", None, {"articles_without_embedding": 12, "articles_without_metadata": 0}),
        ("articles_emb.csv", EMBEDDINGS.rsplit("\n", 5)[0] + "\n", {"articles_without_embedding": 4}),
        ("articles_emb.csv", EMBEDDINGS.replace("100,0,", "100,3e38,"), {"articles_without_embedding": 0}),
        ("testA_click_log.csv", None, {"requests": 30}),
        ("testA_click_log.csv", TEST_A, {"readers_to_predict": 3, "users_history_only": 3}),
    ],
    ids=["no-articles", "some-articles", "no-embeddings", "some-embeddings", "huge", "no-testA", "all"],
)
def test_a_news_folder_may_lack_what_is_optional(
    recx: Recx, name: str, content: str | None, counts: dict[str, int]
) -> None:
    whole = {"articles.csv": ARTICLES, "articles_emb.csv": EMBEDDINGS, "testA_click_log.csv": TEST_A} | {name: content}
    files = {f"d/{file}": text for file, text in whole.items() if text is not None}
    words = ["dataset.path=d", "ranker.resamples=0"]
    assert recx("news", {"d/train_click_log.csv": clicks(NEWS), **files}, words) == (0, "")
    notes = recx.notes()
    assert {key: notes[key] for key in counts} == counts


def test_a_submission_for_readers_with_one_click_is_whole(recx: Recx) -> None:
    files: dict[str, Content] = {"d/train_click_log.csv": clicks(NEWS), "d/testA_click_log.csv": TEST_A}
    assert recx("news_submission", files, ["dataset.path=d", "n_candidates=1"]) == (0, "")
    [path] = recx.folder.glob("outputs/*/*/submission.csv")
    table = pd.read_csv(path)
    assert table["user_id"].tolist() == [505, 500, 501]
    assert (table.iloc[:, 1:].nunique(axis=1) == 5).all()
    reported(recx("news_submission", {}, ["dataset.path=d", "report.k=13"]), "report.k=13", "choose report.k=12")


STRANGE = [
    "a,b",
    'q"u',
    "new\nline",
    "../x",
    "ü☃",
    "x" * 5_000,
    " lead",
    "=1+1",
    "tab\tid",
    "\u202eabc",
    "%s{}",
    "0x10",
]


def test_strange_ids_come_back_unchanged(recx: Recx) -> None:
    text = io.StringIO()
    rows = [
        (user, STRANGE[(5 * n + 7 * step) % 12], START + step) for n, user in enumerate(STRANGE) for step in range(4)
    ]
    csv.writer(text).writerows([("the, user", "item", "time"), *rows])
    words = ["dataset.path='ü [1].csv'", "dataset.user='the, user'", "dataset.time=time", "ranker=identity"]
    assert recx("table", {"ü [1].csv": text.getvalue()}, words) == (0, "")
    shown = saved_runs.load("last").recommendations
    assert set(shown["user"]) | set(shown["item"]) <= set(STRANGE)
    assert set(saved_runs.load("last").per_user["user"]) == set(STRANGE)


def test_libraries_keep_quiet(recx: Recx) -> None:
    words = ["dataset.readers=100", "dataset.articles=40", "retriever=faiss", "retriever.index='IVF4,Flat'"]
    assert recx("news", {}, words) == (0, "")


def test_one_word_is_a_number_too_large_for_any_list(recx: Recx) -> None:
    words = ["dataset.readers=80", "dataset.articles=40", f"n_candidates={10**20}"]
    assert recx("news", {}, words) == (0, "")
    assert json.loads(next(recx.folder.glob("outputs/*/*/protocol.json")).read_text())["n_candidates"] == 10**20

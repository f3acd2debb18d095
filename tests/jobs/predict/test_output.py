"""Tables of predictions as files: every format says the same, and no other file is lost."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from recx.core.errors import InputError
from recx.jobs.predict.output import COLUMNS, SUFFIXES, check_output, is_ours, writing

USERS, ITEMS = np.array(['a "b"', "ü,\n", "\\"], dtype=object), np.array([7, 8, 2**60])
NARROW = np.array([0.1, -1e-30], dtype=np.float32)


def blocks() -> list[pa.Table]:
    """Return a block with narrow scores and one with wide ones."""
    first = [pa.array(USERS[:2], pa.string()), pa.array([1, 2]), pa.array(ITEMS[:2]), pa.array(NARROW)]
    then = [pa.array(USERS[2:], pa.string()), pa.array([1]), pa.array(ITEMS[2:]), pa.array([1 / 3])]
    known = pa.array([True, False]), pa.array([True])
    return [pa.table([*cells, of], names=list(COLUMNS)) for cells, of in zip((first, then), known, strict=True)]


def written(path: Path) -> Path:
    with writing(path, USERS, ITEMS) as append:
        for block in blocks():
            append(block)
    return path


def read_back(path: Path) -> pd.DataFrame:
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if ".jsonl" in path.name:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        return pd.DataFrame([json.loads(line) for line in text.split("\n") if line], columns=list(COLUMNS))
    return pd.read_csv(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_back_the_same_rows(tmp_path: Path, suffix: str) -> None:
    frame = read_back(written(tmp_path / f"top{suffix}"))
    assert tuple(frame) == COLUMNS
    assert frame["user"].tolist() == USERS.tolist()
    assert frame["rank"].tolist() == [1, 2, 1]
    assert frame["item"].tolist() == ITEMS.tolist()
    assert frame["known"].tolist() == [True, False, True]
    assert frame["score"].to_numpy(dtype=np.float32)[:2].tolist() == NARROW.tolist()
    assert frame["score"][2] == 1 / 3
    assert [path.name for path in tmp_path.iterdir()] == [f"top{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_equal_tables_are_equal_files(tmp_path: Path, suffix: str) -> None:
    one, other = (written(tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "other"))
    assert one == other


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_without_rows_has_its_columns(tmp_path: Path, suffix: str) -> None:
    with writing(tmp_path / f"top{suffix}", USERS, ITEMS):
        pass
    assert len(read_back(tmp_path / f"top{suffix}")) == 0
    check_output(tmp_path / f"top{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_left_of_a_table_that_was_not_completed(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / f"top{suffix}")
    before = path.read_bytes()

    def stopped() -> None:
        with writing(path, USERS, ITEMS) as append:
            append(blocks()[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_only_a_table_of_predictions_is_replaced(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / f"top{suffix}")
    assert is_ours(path)
    check_output(path)
    path.write_bytes(path.read_bytes().replace(b"known", b"Known") if suffix in (".csv", ".jsonl") else b"other")
    with pytest.raises(InputError, match=r"already and is no table of predictions: .* --force"):
        check_output(path)
    check_output(path, force=True)


@pytest.mark.parametrize("name", ["top", "top.tsv", "top.parquet.gz", "top.json", ".csv", "top.xlsx", "csv"])
def test_another_suffix_is_refused_with_the_list(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"must end in \.parquet, \.csv, \.csv\.gz, \.jsonl or \.jsonl\.gz"):
        check_output(tmp_path / name)


def test_what_is_no_plain_file_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    (tmp_path / "b.csv").symlink_to("/dev/null")
    for name in ("a.csv", "b.csv"):
        with pytest.raises(InputError, match="it exists already and is no plain file"):
            check_output(tmp_path / name, force=True)
    with pytest.raises(InputError, match=r"there is no folder .*/none: make it first"):
        check_output(tmp_path / "none" / "top.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_said_before_any_work(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match=r"nothing can be written in .*: correct its permissions"):
        check_output(tmp_path / "top.csv")
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_error_of_the_disk_names_the_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"top{suffix}"

    def full() -> None:
        with writing(path, USERS, ITEMS) as append:
            append(blocks()[0])
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=re.escape(str(path))):
        full()
    assert not list(tmp_path.iterdir())

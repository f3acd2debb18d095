from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.jobs.reproduce import spec
from recx.jobs.reproduce.data import check_counts, find, resolved, sha256_of
from recx.jobs.study.start import Request


def test_the_hash_is_of_the_content_packed_or_not(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(b"1 2 3\n")
    packed.write_bytes(gzip.compress(b"1 2 3\n"))
    assert sha256_of(plain) == sha256_of(packed) == hashlib.sha256(b"1 2 3\n").hexdigest()


def test_a_packed_file_takes_the_place_of_a_plain_one(write: Callable[..., str], folder: Path) -> None:
    file = folder / "four.txt"
    file.with_name("four.txt.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    found = spec.load(write())
    files = find(found, folder)
    assert files.files == {"four.txt": folder / "four.txt.gz"}
    assert resolved(found.content, files)["worlds"]["four"][1] == "dataset.path={data}/four.txt.gz"


def test_a_file_may_be_named_elsewhere(write: Callable[..., str], folder: Path) -> None:
    moved = (folder / "four.txt").rename(folder / "moved.txt")
    assert find(spec.load(write()), None, [f"dataset.path={moved}"]).files == {"four.txt": moved}


def test_a_missing_file_says_where_to_get_it(write: Callable[..., str], folder: Path) -> None:
    found = spec.load(write())
    with pytest.raises(
        InputError, match=r"four.txt is needed: get it from https://example.org/four.txt, and name its f"
    ):
        find(found, None)
    (folder / "four.txt").unlink()
    with pytest.raises(InputError, match=r"four.txt is not there: get it from https://example.org/four.txt"):
        find(found, folder)


def test_another_content_is_refused_in_one_sentence(write: Callable[..., str], folder: Path) -> None:
    (folder / "four.txt").write_text("1 a b c", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"is not the data of these figures: the SHA-256 .* get it from https"
    ) as error:
        find(spec.load(write()), folder)
    assert "\n" not in str(error.value)


def test_what_has_no_hash_is_named_as_not_compared(write: Callable[..., str], folder: Path) -> None:
    found = spec.load(write(data={"where": "https://example.org", "files": {"four.txt": None}}))
    assert find(found, folder).unchecked == ("four.txt",)


def test_other_counts_are_refused_in_one_sentence(write: Callable[..., str], folder: Path) -> None:
    counts = {"four": {"users": 4, "events": 13}}
    found = spec.load(write(data={"where": "https://example.org", "files": {"four.txt": None}, "counts": counts}))
    content = resolved(found.content, find(found, folder))
    with pytest.raises(InputError, match=r"the world four has 12 events, and 13 are expected: get its data"):
        check_counts(found, content, Request.of([f"data={folder}"]))


def test_the_right_counts_pass(write: Callable[..., str], folder: Path) -> None:
    found = spec.load(write())
    check_counts(found, resolved(found.content, find(found, folder)), Request.of([f"data={folder}"]))

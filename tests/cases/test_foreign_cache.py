"""A stage cache that somebody else wrote into: only listed plain files of this user are read.

Fault 10, and variants of it. Whatever is not used is computed again, and what it names is left alone.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import recx
from recx.core.system import plain_files
from recx.storage.cache.entries import DAMAGED, entries, prune, wrong_in
from recx.storage.cache.store import Cache

KEY = "ab" + "0" * 30
NUMBERS = np.arange(50_000)
SECRET = "PRIVATE KEY"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Return a file outside of the cache, which nothing may read into a run or remove."""
    path = tmp_path / "id_rsa"
    path.write_text(SECRET)
    return path


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    """Return an entry with an array and a folder of saved files."""

    def save(value: object, folder: Path) -> None:
        (folder / "saved").mkdir()
        (folder / "saved" / "model.json").write_text("{}")

    Cache(tmp_path / "cache").kept("load", lambda: KEY, lambda: NUMBERS, save)
    return tmp_path / "cache" / "ab" / KEY


def lists(entry: Path, name: str, content: bytes) -> None:
    """Have an entry list a file as if it had this content."""
    facts = json.loads((entry / "entry.json").read_text())
    facts["files"][name] = [len(content), zlib.crc32(content)]
    (entry / "entry.json").write_text(json.dumps(facts))


def linked(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to(secret)


def piped(path: Path, secret: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def hard_device(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def a_folder(path: Path, secret: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("change", [linked, piped, hard_device, a_folder])
@pytest.mark.parametrize("name", ["entry.json", "value.json", "0.npy", "saved/model.json"])
def test_no_link_pipe_or_device_is_read(
    entry: Path, secret: Path, name: str, change: Callable[[Path, Path], None]
) -> None:
    change(entry / name, secret)
    assert wrong_in(entry) == name
    made: list[bool] = []
    np.testing.assert_array_equal(
        Cache(entry.parents[1]).kept("load", lambda: KEY, lambda: made.append(True) or NUMBERS), NUMBERS
    )
    assert made
    assert wrong_in(entry) is None
    assert secret.read_text() == SECRET


def test_a_listed_link_with_the_right_checksum_is_not_read_either(entry: Path, secret: Path) -> None:
    lists(entry, "saved/notes.txt", SECRET.encode())
    (entry / "saved" / "notes.txt").symlink_to(secret)
    assert wrong_in(entry) == "saved/notes.txt"


@pytest.mark.parametrize("name", ["../../../id_rsa", "saved/../../../../id_rsa", "{folder}/id_rsa", "linked/id_rsa"])
def test_no_listed_name_leads_out_of_the_entry(entry: Path, secret: Path, name: str) -> None:
    name = name.format(folder=secret.parent)
    (entry / "linked").symlink_to(secret.parent, target_is_directory=True)
    lists(entry, name, SECRET.encode())
    assert (entry / name).read_text() == SECRET
    assert wrong_in(entry) == name


@pytest.mark.parametrize("array", ["../../../numbers.npy", "saved/0.npy", "/tmp/0.npy", "notes.npy", "0.npz"])
def test_a_structure_names_arrays_of_its_entry_only(entry: Path, array: str) -> None:
    (entry / "value.json").write_text(json.dumps({"array": array, "place": 0}))
    lists(entry, "value.json", (entry / "value.json").read_bytes())
    np.save(entry.parents[2] / "numbers.npy", NUMBERS + 1)
    np.save(entry / "saved" / "0.npy", NUMBERS + 1)
    assert wrong_in(entry) is None
    np.testing.assert_array_equal(Cache(entry.parents[1]).kept("load", lambda: KEY, lambda: NUMBERS), NUMBERS)


@pytest.mark.parametrize("place", ["", "ab"])
def test_a_folder_that_is_a_link_is_left_alone(entry: Path, tmp_path: Path, place: str) -> None:
    cache = Cache(tmp_path / "cache")
    target = tmp_path / "elsewhere"
    moved = entry if not place else entry.parent
    moved.rename(target)
    moved.symlink_to(target, target_is_directory=True)
    before = sorted(target.rglob("*"))
    np.testing.assert_array_equal(cache.kept("load", lambda: KEY, lambda: NUMBERS), NUMBERS)
    assert cache.hits == {}
    assert bool(cache.troubles) == bool(place)
    prune(cache.folder, keep=0, older=None)
    assert sorted(target.rglob("*")) == before


def test_files_of_another_user_are_not_read(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_in(entry) is None
    monkeypatch.setattr(plain_files, "is_own", lambda state: state.st_ino != (entry / "0.npy").stat().st_ino)
    assert wrong_in(entry) is None, "the state of a file that was read once is known"
    (entry / "0.npy").touch()
    assert wrong_in(entry) == "0.npy"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_another_user_is_not_read(entry: Path) -> None:
    os.chown(entry, 65534, 65534)
    assert wrong_in(entry) == "entry.json"
    assert entries(entry.parents[1]) == []


def test_a_list_of_files_is_of_bounded_size(entry: Path) -> None:
    with (entry / "entry.json").open("r+") as file:
        file.truncate(plain_files.LARGEST + 1)
    assert wrong_in(entry) == "entry.json"


def test_a_file_larger_than_it_is_listed_is_not_read(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (entry / "0.npy").open("r+b") as file:
        file.truncate(2**40)  # a terabyte of holes, which no disk has to hold
    assert wrong_in(entry) == "0.npy"


@pytest.mark.parametrize("stage", ["\x1b]0;owned\x1b\\", "x" * 100, 7, None, ["load"]])
def test_a_stage_is_a_word_or_the_entry_is_damaged(entry: Path, stage: object) -> None:
    facts = json.loads((entry / "entry.json").read_text())
    (entry / "entry.json").write_text(json.dumps({**facts, "stage": stage, "bytes": -5}))
    [found] = entries(entry.parents[1])
    assert found.stage == DAMAGED
    assert found.bytes >= 0


def test_a_pipe_in_place_of_an_entry_stops_no_listing(entry: Path) -> None:
    piped(entry / "entry.json", entry)
    [found] = entries(entry.parents[1])
    assert found.stage == DAMAGED
    prune(entry.parents[1], keep=0, older=None)
    assert not entry.exists()


def test_a_run_takes_nothing_from_an_entry_but_what_it_lists(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    small = ["+experiment=news", "dataset.readers=40", "dataset.articles=30", "retriever=popularity", "feature=basic"]
    small += ["ranker.resamples=0", "tracker=console"]
    recx.run([*small, "hydra.run.dir=outputs/a/first"])
    kept = (here / "outputs" / "cache").rglob("fitted/value.json")
    [saved] = [path for path in kept if "FittedLinear" in path.read_text()]
    (here / "id_rsa").write_text(SECRET)
    (saved.parent / "notes.txt").symlink_to(here / "id_rsa")
    again = recx.run([*small, "hydra.run.dir=outputs/a/again"])
    assert again.hits
    assert again.hits["fit_ranker"] == 1
    assert not list((here / "outputs" / "a").rglob("notes.txt"))
    (saved.parents[1] / "entry.json").unlink()
    os.mkfifo(saved.parents[1] / "entry.json")
    third = recx.run([*small, "hydra.run.dir=outputs/a/third"])
    assert third.hits is not None
    assert "fit_ranker" not in third.hits
    assert third.metrics["end_to_end/ndcg_at_5"] == again.metrics["end_to_end/ndcg_at_5"]

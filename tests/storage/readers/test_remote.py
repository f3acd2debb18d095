from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.core.project import Project, entered
from recx.parts.dataset.table import Table
from recx.storage.readers import remote
from recx.storage.readers.file_sets import files_of

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(remote, "PROTOCOLS", ("memory",))
    memory = fsspec.filesystem("memory")
    for name in ("part-2.csv", "part-10.csv", "_SUCCESS"):
        memory.pipe_file(f"/bucket/{name}", f"user,item,time\n{name[5]},7,1500000000000\n".encode())
    yield "memory://bucket"
    memory.rm("/bucket", recursive=True)


def test_files_at_addresses_are_read(bucket: str) -> None:
    assert Table(f"{bucket}/part-2.csv").load().users.ids.tolist() == [2]
    assert len(Table(bucket).load()) == 2
    assert len(Table(f"{bucket}/*.csv").load()) == 2


def test_an_address_is_opened_only_where_it_is_typed(bucket: str) -> None:
    address = f"{bucket}/part-2.csv"
    with entered(Project.of([], ["+experiment=table"])), pytest.raises(InputError, match="an address is opened only"):
        files_of(address, "dataset.path")
    with entered(Project.of([], ["+experiment=table", f"dataset.path={address}"])):
        assert [path.name for path in files_of(address, "dataset.path").paths] == ["part-2.csv"]
    typed = Project.of([], [f"dataset.path=[{address},'x y']"])
    with entered(replace(typed, overrides=("dataset.path=other",))):  # as a trial of a sweep has it
        assert files_of(address, "dataset.path").paths
    named = replace(Project.of([], []), overrides=(f"dataset.path={address}",))  # by a file of a sweep
    with entered(named), pytest.raises(InputError, match=r"type dataset.path=.* here if you trust it"):
        files_of(address, "dataset.path")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("memory://bucket/none.csv", "none.csv cannot be read .* correct it, or copy the file"),
        ("memory://bucket/*.tsv", "no file matches the pattern"),
        ("ftp://host/log.csv", "addresses that are opened begin with memory://: copy the file"),
    ],
)
def test_what_cannot_be_fetched_is_one_sentence(bucket: str, address: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        files_of(address, "dataset.path")
    assert "\n" not in str(error.value)


def test_a_copy_that_is_cut_short_is_refused(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(system: object, name: str, path: str) -> None:
        Path(path).write_bytes(b"user")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "get_file", cut)
    with pytest.raises(InputError, match=r"4 of \d+ bytes of part-2.csv arrived"):
        files_of(f"{bucket}/part-2.csv", "dataset.path")

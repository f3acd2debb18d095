from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recx.cli.commands.cache import run
from recx.core.errors import InputError
from recx.storage.cache.store import Cache


def test_it_shows_what_is_kept_and_prunes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([]) == 0
    assert capsys.readouterr().out == "outputs/cache is empty\n"
    cache = Cache(Path("outputs/cache"))
    for stage, key in (("load", "a" * 32), ("load", "b" * 32), ("rank", "c" * 32)):
        cache.kept(stage, lambda key=key: key, lambda: np.zeros(100_000, dtype=np.uint8))  # type: ignore[misc]
    assert run([]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:4] for line in lines[1:]] == [
        ["load", "2", "200.3", "kB"],
        ["rank", "1", "100.2", "kB"],
        ["total", "3", "300.5", "kB"],
        ["limit", "10.0", "GB", "by"],
    ]
    assert run(["--keep", "150KB"]) == 0
    assert capsys.readouterr().out.startswith("2 entries removed, 200.3 kB\n")
    assert run(["--older", "1d", "--folder", "outputs/cache"]) == 0
    assert capsys.readouterr().out.startswith("0 entries removed, 0 B\n")


def test_a_folder_that_is_not_a_cache_is_empty_and_loses_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "en").mkdir()
    (here / "en" / "words.txt").write_text("precious")
    assert run(["--folder", ".", "--keep", "0B", "--older", "1s"]) == 0
    assert capsys.readouterr().out == "0 entries removed, 0 B\n. is empty\n"
    assert (here / "en" / "words.txt").read_text() == "precious"
    assert run(["--keep", "0B"]) == 0
    assert not (here / "outputs").exists()
    with pytest.raises(InputError, match="--folder=none: the folder does not exist"):
        run(["--folder", "none"])


@pytest.mark.parametrize("size", ["0B", "0.0 kb", " 0GB "])
def test_keeping_nothing_takes_all(size: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Cache(here / "outputs/cache").kept("load", lambda: "a" * 32, lambda: np.zeros(10))
    assert run(["--keep", size]) == 0
    assert capsys.readouterr().out.endswith("outputs/cache is empty\n")


@pytest.mark.parametrize(
    "words", [["--keep", "20"], ["--keep", "GB"], ["--keep", "1e3B"], ["--older", "0s"], ["--keep", ""]]
)
def test_an_odd_size_or_duration_is_reported(words: list[str], here: Path) -> None:
    with pytest.raises(InputError, match=r"--(keep|older)="):
        run(words)


@pytest.mark.parametrize("words", [["--keep", "20"], ["--keep", "-1GB"], ["--older", "soon"], ["--oldest", "1d"]])
def test_a_mistake_is_reported(words: list[str]) -> None:
    with pytest.raises(InputError):
        run(words)

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recx.cache import Cache
from recx.errors import InputError
from recx.verb.cache import run


def test_it_shows_what_is_kept_and_prunes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([]) == 0
    assert capsys.readouterr().out == "outputs/cache holds nothing\n"
    cache = Cache(Path("outputs/cache"))
    for stage, key in (("load", "aa0"), ("load", "bb0"), ("rank", "cc0")):
        cache.kept(stage, key, lambda: np.zeros(100_000, dtype=np.uint8))
    assert run([]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:4] for line in lines[1:]] == [
        ["load", "2", "200.3", "KB"],
        ["rank", "1", "100.2", "KB"],
        ["total", "3", "300.5", "KB"],
    ]
    assert run(["--keep", "150KB"]) == 0
    assert capsys.readouterr().out.startswith("2 entries taken away, 200.3 KB\n")
    assert run(["--older", "1d", "--folder", "outputs/cache"]) == 0
    assert capsys.readouterr().out.startswith("0 entries taken away, 0 B\n")


@pytest.mark.parametrize("words", [["--keep", "20"], ["--keep", "-1GB"], ["--older", "soon"], ["--oldest", "1d"]])
def test_a_mistake_is_told(words: list[str]) -> None:
    with pytest.raises(InputError):
        run(words)

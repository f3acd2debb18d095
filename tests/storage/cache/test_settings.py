"""The group ``cache``: what each option does with the folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recx.config.compose import compose, plain
from recx.core.errors import InputError
from recx.experiment import build
from recx.storage.cache.settings import StageCache
from recx.testing import check_option


@pytest.mark.parametrize(
    "words", [["cache=on"], ["cache=read"], ["cache=off"], ["cache.limit=5GB"], ["cache.limit=null"]]
)
def test_the_words_of_the_command_line(words: list[str]) -> None:
    settings = build.plan(plain(compose(words))).cache
    mode = words[0].removeprefix("cache=") if "limit" not in words[0] else "on"
    limit = {"cache.limit=5GB": "5GB", "cache.limit=null": None}.get(words[0], "10GB")
    assert settings == StageCache(mode, limit)  # type: ignore[arg-type]


def test_the_option_on_has_the_defaults() -> None:
    check_option("cache/on")


def test_on_writes_read_only_reads_and_off_is_no_cache(tmp_path: Path) -> None:
    on, read = StageCache().open(tmp_path, 2), StageCache("read", "1kB").open(tmp_path, 2)
    assert on is not None
    assert read is not None
    assert (on.writes, on.limit, on.threads) == (True, 10**10, 2)
    assert (read.writes, read.limit) == (False, 1000)
    assert StageCache("off").open(tmp_path, 2) is None


def test_read_removes_nothing_beyond_the_limit(tmp_path: Path) -> None:
    on, read = StageCache().open(tmp_path, 1), StageCache("read", "1kB").open(tmp_path, 1)
    assert on is not None
    assert read is not None
    on.kept("load", lambda: "a" * 32, lambda: np.zeros(1000))
    before = sorted(tmp_path.rglob("*"))
    read.kept("load", lambda: "b" * 32, lambda: np.zeros(1000))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("limit", ["lots", "5", "-1GB"])
def test_a_limit_that_is_no_size_is_refused(limit: str) -> None:
    with pytest.raises(InputError, match=r"cache\.limit=.*such as 20MB"):
        StageCache(limit=limit)

"""Keys depend on the texts, vectors are read back to the bit, and damaged files are reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recx_text.cache import Cache, keys_of

from recx.plugin import InputError


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True))
def test_different_texts_have_different_keys(texts: list[str]) -> None:
    assert len(np.unique(keys_of(texts))) == len(texts)
    assert np.array_equal(keys_of(texts), keys_of(list(texts)))


@given(st.lists(st.integers(0, 50), unique=True, min_size=1), st.integers(1, 4))
def test_what_was_kept_is_found_to_the_bit(numbers: list[int], width: int) -> None:
    import tempfile

    keys = np.sort(keys_of(map(str, numbers)))
    vectors = np.random.default_rng(0).normal(size=(len(keys), width)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        half = len(keys) // 2
        for part in (slice(None, half), slice(half, None)):
            if len(keys[part]):
                cache.keep(keys[part], vectors[part])
        asked = np.unique(np.append(keys, keys_of(["never kept"])))
        known, found = cache.find(asked)
        assert np.array_equal(asked[known], keys)
        assert np.array_equal(found, vectors)


def test_an_empty_cache_knows_nothing(tmp_path: Path) -> None:
    known, found = Cache(tmp_path / "nowhere").find(keys_of(["a", "b"]))
    assert not known.any()
    assert len(found) == 0


def test_no_half_written_file_is_left_or_read(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.keep(keys_of(["a"]), np.ones((1, 3), dtype=np.float32))
    assert sorted(file.suffixes for file in tmp_path.iterdir()) == [[".keys", ".npy"], [".vectors", ".npy"]]
    next(tmp_path.glob("*.keys.npy")).unlink()  # as where a process was killed between the two
    assert not cache.find(keys_of(["a"]))[0].any()


@pytest.mark.parametrize("content", [b"", b"no array", b"\x80\x04K\x01."], ids=["empty", "text", "pickle"])
def test_a_damaged_file_is_reported(tmp_path: Path, content: bytes) -> None:
    cache = Cache(tmp_path)
    cache.keep(keys_of(["a"]), np.ones((1, 3), dtype=np.float32))
    next(tmp_path.glob("*.vectors.npy")).write_bytes(content)
    with pytest.raises(InputError, match=r"vectors\.npy is damaged .*: delete the folder"):
        cache.find(keys_of(["a"]))

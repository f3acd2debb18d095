"""Vectors capture meaning, are cached by content, and each text is encoded once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recx_text import encoder as module
from recx_text.encoder import FittedSentenceTransformer, SentenceTransformer

from recx.plugin import InputError

TEXTS = np.array(["book a flight to Paris", "reserve a plane ticket", "grow tomatoes", "", "  \n", "grow tomatoes"])


def fitted(folder: Path, **settings: Any) -> FittedSentenceTransformer:
    return SentenceTransformer(str(folder), device="cpu", **settings).fit(TEXTS)


def no_model(*_: object) -> None:
    raise AssertionError("the model was loaded")


def test_what_means_the_same_lies_near(sentences: Path) -> None:
    vectors = fitted(sentences).encode(TEXTS)
    assert vectors.shape == (6, 384)
    assert vectors.dtype == np.float32
    assert vectors[0] @ vectors[1] > 0.4 > 0.2 > vectors[0] @ vectors[2]


def test_vectors_have_length_1_and_blank_texts_have_none(sentences: Path) -> None:
    vectors = fitted(sentences).encode(TEXTS)
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 0, 0, 1], atol=1e-6)
    assert np.array_equal(vectors[2], vectors[5])
    assert fitted(sentences).encode(TEXTS[3:4]).shape == (1, 384)
    assert fitted(sentences).encode(TEXTS[:0]).shape == (0, 384)


def test_any_writing_and_any_length_is_taken(sentences: Path) -> None:
    strange = np.array(["订一张去巴黎的机票", "احجز رحلة", "🍅🍅", "word " * 20_000, "\ud800", "\x00"], dtype=object)
    vectors = fitted(sentences).encode(strange)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert not np.array_equal(vectors[0], vectors[1])


def test_the_batch_size_changes_no_more_than_rounding(sentences: Path) -> None:
    one, many = fitted(sentences, batch_size=1), fitted(sentences, batch_size=64)
    assert np.allclose(one.encode(TEXTS), many.encode(TEXTS), atol=1e-5)


def test_fewer_tokens_see_less_of_a_text(sentences: Path, tmp_path: Path) -> None:
    texts = np.array(["grow tomatoes", "grow tomatoes and then fly to Paris"])
    short = fitted(sentences, max_length=4, cache=str(tmp_path)).encode(texts)  # two words between two marks
    assert np.allclose(short[0], short[1], atol=1e-5)
    whole = fitted(sentences, cache=str(tmp_path)).encode(texts)
    assert whole[0] @ whole[1] < 0.9


def test_a_cached_text_needs_no_model(sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fitted(sentences, cache=str(tmp_path)).encode(TEXTS)
    monkeypatch.setattr(module, "_model", no_model)
    again = fitted(sentences, cache=str(tmp_path)).encode(TEXTS[::-1])
    assert np.array_equal(first[::-1], again)
    with pytest.raises(AssertionError, match="the model was loaded"):
        fitted(sentences, cache=str(tmp_path)).encode(np.array(["something new"]))


def test_only_new_texts_are_encoded(sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted(sentences, cache=str(tmp_path)).encode(TEXTS)
    asked: list[str] = []
    encode = module.Model.encode

    def noted(self: Any, texts: list[str], **settings: Any) -> Any:
        asked.extend(texts)
        return encode(self, texts, **settings)

    monkeypatch.setattr(module.Model, "encode", noted)
    both = np.append(TEXTS, "something new")
    cached = fitted(sentences, cache=str(tmp_path)).encode(both)
    assert asked == ["something new"]
    assert np.allclose(cached, fitted(sentences).encode(both), atol=1e-5)


def test_many_texts_are_kept_block_by_block(sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TEXTS", 2)
    vectors = fitted(sentences, cache=str(tmp_path)).encode(TEXTS)
    assert len(list(tmp_path.rglob("*.keys.npy"))) == 3  # five distinct texts, two at a time
    assert np.allclose(vectors, fitted(sentences).encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"batch_size": 0}, "encoder.batch_size=0: it must be 1 or more"),
        ({"max_length": 0}, "encoder.max_length=0: it must be 1 or more"),
        ({"device": "tpu"}, "encoder.device=tpu: did you mean 'cpu'?"),
    ],
)
def test_wrong_settings_are_reported_by_their_key(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        SentenceTransformer("somewhere", **settings)
    assert str(error.value) == said

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from recx.core.errors import InputError
from recx.core.types import Array
from recx.parts.encoder.tfidf import Tfidf

TEXTS = np.array(
    [
        "send a mail",
        "Send mail to all",
        "read the news",
        "news of a b c",
        "天气 怎么样",
        "طقس اليوم",
        "🙂 🙂",
        "",
        " \n",
    ],
    dtype=object,
)
ENCODERS = {
    "words": Tfidf(),
    "pairs of words": Tfidf(longest=2),
    "characters": Tfidf(analyzer="char_wb", shortest=2, longest=3),
    "hashed": Tfidf(hashed=64),
    "axes": Tfidf(factors=3),
    "hashed, axes": Tfidf(longest=2, hashed=4096, factors=4, seed=1),
}
every_encoder = pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)


def encoded(encoder: Tfidf, texts: Array) -> Array:
    found = encoder.fit(TEXTS).encode(texts)
    return found.toarray() if sparse.issparse(found) else found


@every_encoder
def test_vectors_have_length_1_or_0(encoder: Tfidf) -> None:
    found = encoded(encoder, np.append(TEXTS, ["zzz", "mail zzz"]))
    length = np.linalg.norm(found, axis=1)
    assert found.dtype == np.float32
    assert length[TEXTS.tolist().index("")] == 0
    assert ((np.abs(length - 1) < 1e-5) | (length == 0)).all()
    assert length[0] == pytest.approx(1)


@every_encoder
def test_a_text_has_the_same_vector_again_and_whatever_else_is_encoded(encoder: Tfidf) -> None:
    whole = encoded(encoder, TEXTS)
    assert np.array_equal(whole, encoded(encoder, TEXTS))
    assert encoded(encoder, TEXTS[1:3]) == pytest.approx(whole[1:3], abs=1e-6)


def test_words_weigh_what_scikit_learn_says() -> None:
    texts = np.array(
        [text for text in TEXTS if "天" not in text], dtype=object
    )  # which scikit-learn takes for one word
    theirs = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b").fit(texts).transform(texts)
    assert Tfidf().fit(texts).encode(texts).toarray() == pytest.approx(theirs.toarray(), abs=1e-6)


def test_few_axes_bring_texts_together_that_share_no_word() -> None:
    texts = np.array(["cat purrs", "purrs feline", "dog barks", "barks hound"] * 3, dtype=object)
    fitted = Tfidf(factors=2).fit(texts)
    cat, feline, hound = fitted.encode(np.array(["cat", "feline", "hound"], dtype=object))
    assert cat @ feline == pytest.approx(1, abs=1e-5)
    assert cat @ hound == pytest.approx(0, abs=1e-5)


def test_axes_of_hashed_terms_are_those_of_a_vocabulary() -> None:
    products = [
        encoded(Tfidf(hashed=hashed, factors=5), TEXTS[:4]) @ encoded(Tfidf(hashed=hashed, factors=5), TEXTS[:4]).T
        for hashed in (None, 2**20)
    ]
    assert products[0] == pytest.approx(products[1], abs=1e-4)


@every_encoder
@pytest.mark.parametrize("texts", [[], [""], ["", "  ", "!?"]], ids=["none", "empty", "wordless"])
def test_nothing_to_learn_from_is_no_obstacle(encoder: Tfidf, texts: list[str]) -> None:
    fitted = encoder.fit(np.array(texts, dtype=object))
    found = fitted.encode(np.array(["", "mail"], dtype=object))
    assert found.shape[0] == 2
    assert np.isfinite(found.toarray() if sparse.issparse(found) else found).all()


def test_a_long_text_is_no_obstacle() -> None:
    found = encoded(Tfidf(longest=2), np.array(["mail " * 20_000], dtype=object))
    assert np.linalg.norm(found) == pytest.approx(1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"analyzer": "chars"}, "encoder.analyzer=chars"),
        ({"shortest": 0}, "encoder.shortest=0"),
        ({"shortest": 3, "longest": 2}, "encoder.longest=2"),
        ({"hashed": 1}, "encoder.hashed=1"),
        ({"factors": 0}, "encoder.factors=0"),
    ],
)
def test_bad_settings_are_refused(settings: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Tfidf(**settings)

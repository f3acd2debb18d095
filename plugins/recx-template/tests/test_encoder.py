"""The encoder keeps its contract, and equal words make texts similar."""

import numpy as np
from recx_template.encoder import HashedWords

from recx.testing import check_encoder, check_option


def test_the_contract() -> None:
    check_encoder(HashedWords())
    check_option("encoder/template")


def test_the_cosine_counts_words_in_common() -> None:
    vectors = HashedWords().fit(np.array([])).encode(np.array(["red fox", "Red", "blue"]))
    assert np.allclose(vectors @ vectors[0], [1, 0.5**0.5, 0])

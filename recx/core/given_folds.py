"""Which fold the data itself gives each event: the words by which people name train, valid and test."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from recx.core.errors import InputError

GIVEN = ("train", "valid", "test")
"""The folds that data can give, by their codes in ``Interactions.given_fold``: each is later than those before it."""
TRAIN, VALID, TEST = range(3)
WORDS = {
    TRAIN: ("train", "training", "trn", "tr", "fit", "learn"),
    VALID: ("valid", "validation", "validate", "val", "vali", "dev", "development"),
    TEST: ("test", "testing", "tst", "te", "holdout", "hold-out", "held-out", "held_out"),
}
_CODES = {word: code for code, words in WORDS.items() for word in words}


def fold_of(word: str) -> str | None:
    """Return the fold that a word such as ``dev`` stands for; None: none."""
    code = _CODES.get(word.strip().lower())
    return None if code is None else GIVEN[code]


def codes_of(values: npt.NDArray[Any], where: str) -> npt.NDArray[np.int8]:
    """Return the codes of words [n], such as ``train`` or ``VAL``.

    Args:
        values: Texts; blanks around them and capitals do not matter.
        where: What holds them, for errors.

    Raises:
        InputError: A word is another one, such as a number, or missing.
    """
    import pandas as pd

    numbers, words = pd.factorize(values, use_na_sentinel=False)
    codes = np.array([_CODES.get(str(word).strip().lower(), -1) for word in words], dtype=np.int8)
    code: npt.NDArray[np.int8] = codes[numbers]
    if (code < 0).any():
        row = int(np.argmax(code < 0))
        word = values[row]
        raise InputError(
            f"{where}, row {row + 1}: {word!r} is none of train, valid and test, which could mean either of them or "
            "that the row is left out: write one of these words (or val, dev, training and the like)"
        )
    return code

from __future__ import annotations

import numpy as np

from recx.memory import peak


def test_the_peak_is_in_mebibytes_and_never_falls() -> None:
    before = peak()
    size = int(before + 64) * 2**20  # more than was ever held
    assert np.ones(size, np.uint8).sum() == size
    after = peak()
    assert 32 < after - before < 2 * before + 1024
    assert peak() >= after > 1

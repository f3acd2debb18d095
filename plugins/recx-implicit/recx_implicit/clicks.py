"""The users' clicks as the matrix that implicit learns from."""

from __future__ import annotations

from typing import Any

import numpy as np

from recx.plugin import Array


def fingerprints(matrix: Any) -> Array:
    """Return a number per row of a CSR [n_users], equal for rows with the same entries."""
    mixed = (matrix.indices.astype(np.uint64) << np.uint64(32)) | matrix.data.view(np.uint32)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # of SplitMix64 (Steele et al. 2014)
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)])
    found: Array = total[matrix.indptr[1:]] - total[matrix.indptr[:-1]]  # modulo 2^64
    return found

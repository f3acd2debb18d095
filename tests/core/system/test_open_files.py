from __future__ import annotations

import gc

import numpy as np
import pytest

from recx.core.stored_lists import StoredLists
from recx.core.system.open_files import ENOUGH, allow_many
from recx.core.types import RankedLists

resource = pytest.importorskip("resource", reason="there is no such limit on Windows")


def test_lists_with_many_columns_may_have_more_open_files_than_the_shell_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    values = np.ones(3, dtype=np.float32)
    lists = RankedLists(np.array([0]), np.array([0, 3]), np.arange(3), values, {f"c{n}": values for n in range(100)})
    resource.setrlimit(resource.RLIMIT_NOFILE, (150, hard))
    try:
        allow_many()
        stored = StoredLists()
        stored.add(lists)
        made = stored.lists()  # two files per column
        assert made.columns["c99"].tolist() == [1, 1, 1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(ENOUGH, hard)
        allow_many()
    finally:
        del stored, made
        gc.collect()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

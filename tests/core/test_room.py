from __future__ import annotations

from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from recx.core import room
from recx.core.errors import InputError
from recx.core.progress import shown_on
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import read


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
@pytest.mark.parametrize("free", [1e-4, 1e6])
def test_too_little_memory_is_said_before_a_table_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, free: float
) -> None:
    frame = pd.DataFrame({"user": range(1_000), "item": range(1_000)})
    frame.to_csv(tmp_path / name, index=False) if name == "log.csv" else frame.to_parquet(tmp_path / name)
    monkeypatch.setattr(room, "available", lambda: free)
    console = Console(file=StringIO(), width=300)
    with shown_on(console):
        columns = read(Source(tmp_path / name), {"user": "id", "item": "id"})
    assert len(columns["user"]) == 1_000
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert (f"reading {name} needs about" in said) == (free < 1)
    assert ("105 B are free: give fewer rows" in said) == (free < 1)


def test_what_cannot_be_held_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "available", lambda: 2.0)
    room.check_room("a table", 2 * 2**20, "give fewer rows")
    with pytest.raises(InputError, match=r"^a table needs at least .* of memory, and .* are free: give fewer rows$"):
        room.check_room("a table", 2 * 2**20 + 1, "give fewer rows")

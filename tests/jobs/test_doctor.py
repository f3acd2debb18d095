"""``recx.doctor`` gives what the command line prints, of a file and of a frame with the same content."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import recx
from recx.cli.commands import doctor as command
from recx.core.errors import InputError

RNG = np.random.default_rng(0)
EVENTS = pd.DataFrame(
    {
        "user_id": RNG.integers(0, 40, 300),
        "sku": RNG.integers(0, 25, 300),
        "timestamp": pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(300), unit="h"),
    }
)


def test_a_frame_is_examined_like_a_file(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # the width of a terminal, which the command line would take
    EVENTS.to_parquet("events.parquet")
    path = "dataset.path=events.parquet"
    assert command.run([path, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert recx.doctor(overrides=[path]).as_dict() == printed
    found = recx.doctor(pa.Table.from_pandas(EVENTS))
    given = {**found.as_dict(), "command": printed["command"]}
    assert given == printed
    assert found.seems is not None
    assert found.seems.roles["user"].startswith("user_id")

    assert command.run([path]) == 0
    text = capsys.readouterr().out.rstrip("\n")
    assert repr(recx.doctor(overrides=path)) == text
    *lines, call = repr(found).splitlines()
    assert lines == text.splitlines()[:-1]
    assert call.startswith("recx.run(['+experiment=table', 'dataset.user=user_id', 'dataset.item=sku', ")
    assert call.endswith("], data=...)")
    capsys.readouterr()
    quick = ", 'retriever=popularity', 'ranker=identity', 'tracker=console', 'cache=off'], data=events)"
    result = eval(call.replace("], data=...)", quick), {"recx": recx, "events": EVENTS})
    assert result.interactions.n_users == printed["users"]


def test_what_is_named_is_taken_at_its_word(here: Path) -> None:
    events = EVENTS.rename(columns={"user_id": "who"})
    columns = {"user": "who", "item": "sku"}
    items = pd.DataFrame({"sku": range(25), "category": ["a"] * 25})
    assert recx.doctor(events, ["+experiment=table"], columns=columns).seems is None
    found = recx.doctor(events, items=items, columns=columns)
    assert found.seems is not None
    assert found.seems.command.endswith("], data=..., items=...)")
    assert (found.users, found.events) == (events["who"].nunique(), 300 - int(events.duplicated().sum()))
    with pytest.raises(InputError, match=r"which of its columns .* is the user cannot be seen"):
        recx.doctor(events)
    assert list(here.iterdir()) == []

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

LINES = ["1 a b c", "2 a b c", "3 a b d", "4 b a d"]
"""The events of four users. Popular before their last one: a and b (4 clicks each)."""
TINY: dict[str, Any] = {
    "title": "Popularity on four users",
    "paper": "nobody's, https://example.org",
    "data": {
        "where": "https://example.org/four.txt",
        "files": {"four.txt": hashlib.sha256("\n".join(LINES).encode()).hexdigest()},
        "counts": {"four": {"users": 4, "items": 4, "events": 12}},
    },
    "notes": "made up",
    "expected": [
        # Nobody has clicked c or d before the last step, so that no list holds one of them.
        {"chain": "kept", "world": "four", "origin": "paper", "source": "by hand", "tolerance": 0.001,
         "figures": {"hit_at_1": 0.0}},
        {"chain": "kept", "world": "four", "origin": "recx", "source": "wrong on purpose", "tolerance": 0.1,
         "figures": {"ndcg_at_2": 0.75}},
        {"model": "LightGCN", "world": "four", "origin": "paper", "source": "no chain", "tolerance": 0,
         "figures": {"ndcg_at_2": 0.9}},
    ],
    "metrics": ["hit_at_1", "ndcg_at_2"],
    "seeds": [0],
    "chains": {"kept": ["retriever=popularity", "ranker=identity"]},
    "worlds": {"four": ["+experiment=sequences", "dataset.path={data}/four.txt", "n_candidates=3"]},
}  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes a reproduction, with some keys replaced (None: left out), and returns its path."""

    def write(**keys: Any) -> str:
        content = {key: value for key, value in {**TINY, **keys}.items() if value is not None}
        file = tmp_path / "tiny.yaml"
        file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        return str(file)

    return write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the data."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "four.txt").write_text("\n".join(LINES), encoding="utf-8")
    return tmp_path / "data"

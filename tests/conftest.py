"""What all tests share: the real data, where it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data: RECX_DATA, or ../shared/data beside the checkout; skip where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RECX_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not there (set RECX_DATA)")
    return folder

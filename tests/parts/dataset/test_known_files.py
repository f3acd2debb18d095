"""The list of well-known formats: each is complete, and names options that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recx.parts.dataset.known_files import formats, untried

CONF = Path(__file__).resolve().parents[3] / "conf"
ABOUT = ("header", "keys", "row", "line")


@pytest.mark.parametrize("name", formats())
def test_a_format_names_options_that_exist_and_says_what_its_files_look_like(name: str) -> None:
    known = formats()[name]
    assert (CONF / "dataset" / f"{known.dataset}.yaml").is_file()
    assert (CONF / "experiment" / f"{known.experiment}.yaml").is_file()
    assert sum(bool(getattr(known, one)) for one in ABOUT) == 1 or (known.folder and not known.line)
    for pattern in (*known.row, known.line):
        re.compile(pattern)


@pytest.mark.parametrize("name", formats())
def test_published_counts_have_their_source(name: str) -> None:
    for one in formats()[name].published:
        assert one.source.startswith("http")
        assert one.data
        assert one.counts
        assert set(one.counts) <= {"users", "items", "events", "queries", "documents", "rows"}
        assert all(isinstance(n, int) and n > 0 for n in one.counts.values())


def test_a_dataset_is_tried_once_one_of_its_formats_is() -> None:
    assert "recbole" not in untried()
    assert "amazon_ratings_2014" in untried()

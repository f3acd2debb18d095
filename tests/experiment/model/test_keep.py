"""How much of a run's chain is kept, by the setting ``model``."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from recx.core.errors import InputError
from recx.core.progress import shown_on
from recx.experiment.experiment import Result
from recx.experiment.model.folder import read
from recx.experiment.model.keep import keep, known_of
from recx.parts.ranker.identity import Identity


def test_off_keeps_nothing(result: Result, tmp_path: Path) -> None:
    for off in ("off", False):  # as YAML reads a bare off
        assert keep(result, tmp_path, {"model": off}, {}) is None
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="model=all: it must be parts, full or off"):
        keep(result, tmp_path, {"model": "all"}, {})


def test_parts_are_kept_without_the_events(result: Result, tmp_path: Path) -> None:
    keep(result, tmp_path, {"model": "parts"}, {})
    kept = read(tmp_path / "model")
    assert kept.about["keep"] == "parts"
    assert kept.chain.known is None
    assert kept.chain.made == ()
    users = {str(user).encode() for user in result.interactions.users.ids}
    content = b"".join(path.read_bytes() for path in (tmp_path / "model").rglob("*") if path.is_file())
    assert not [user for user in users if user in content]


def test_full_has_all_events_and_what_was_made_of_them(result: Result, tmp_path: Path) -> None:
    keep(result, tmp_path, {"model": "full"}, {})
    chain = read(tmp_path / "model").chain
    assert chain.known is not None
    expected = known_of(result.interactions, result.experiment.splitter)
    np.testing.assert_array_equal(chain.known.history.item, result.interactions.item)
    np.testing.assert_array_equal(chain.known.requests.user, expected.requests.user)
    functions = {one.function for one in chain.made}
    assert "recx.parts.shared.design_matrix.fitted_on" in functions
    assert not [function for function in functions if function.startswith("recx.evaluation")]


class Unkept:
    """A fitted ranker that is no dataclass."""

    def rank(self, candidates: object, history: object, requests: object) -> object:
        return candidates


def test_a_part_that_cannot_be_kept_is_said(result: Result, tmp_path: Path) -> None:
    output = StringIO()
    with shown_on(Console(file=output, width=1000)):
        assert keep(replace(result, ranker=Unkept()), tmp_path, {"model": "parts"}, {}) is None  # type: ignore[arg-type]
    said = output.getvalue()
    assert "the model is not kept, since it contains a Unkept" in said
    assert "see python -m recx help own-part, or choose model=off" in said
    assert list(tmp_path.iterdir()) == []
    assert keep(replace(result, ranker=Identity()), tmp_path, {"model": "parts"}, {})

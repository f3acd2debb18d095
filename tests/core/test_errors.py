"""Why something failed, in one line."""

from __future__ import annotations

import pytest

from recx.core.errors import InputError, reason


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("x: it is\n  no number"), "x: it is no number"),
        (ValueError("two\nlines"), "ValueError: two lines"),
    ],
)
def test_a_reason_is_one_line_and_an_unexpected_error_names_its_type(error: Exception, line: str) -> None:
    assert reason(error) == line

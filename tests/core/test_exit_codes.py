"""The table of exit codes, which other modules name them by."""

from __future__ import annotations

import pytest

from recx import __main__ as entry
from recx.core.errors import InputError, RecxError
from recx.core.exit_codes import EXIT_CODES, FAILED, INTERRUPTED, UNUSABLE


def test_the_errors_of_recx_end_with_codes_of_the_table() -> None:
    assert (RecxError("").exit_code, InputError("").exit_code) == (FAILED, UNUSABLE) == (1, 2)
    assert list(EXIT_CODES) == [0, 1, 2, 3, 130, 141]


def test_an_interrupt_of_the_first_imports_ends_with_the_code_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("recx.core.system.signals.stoppable", interrupted)
    assert entry.main() == INTERRUPTED

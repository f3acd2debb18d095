"""What a run belongs to, handed to another process and read there."""

from __future__ import annotations

import pytest

from recx.core.run_context import ALONE, RunContext


@pytest.mark.parametrize("context", [ALONE, RunContext("p", "s", "n"), RunContext(sweep="s"), RunContext(name="n")])
def test_another_process_reads_what_was_set_for_it(context: RunContext, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RECX_PARENT", "RECX_SWEEP", "RECX_RUN_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in context.variables.items():
        monkeypatch.setenv(name, value)
    assert RunContext.from_environment() == context


def test_the_variables_have_their_names_and_an_empty_one_is_not_set() -> None:
    assert RunContext("p", "s", "n").variables == {"RECX_PARENT": "p", "RECX_SWEEP": "s", "RECX_RUN_NAME": "n"}
    assert RunContext(sweep="s").variables == {"RECX_SWEEP": "s"}

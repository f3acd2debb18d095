"""A program ends in time with all that it started, and its last lines are known."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

import pytest
from waiting import PATIENCE, is_alive, until

from recx.core.system import child
from recx.core.system.child import Ended


def run(script: str, seconds: float | None = None, show: Callable[[str], None] = lambda line: None) -> Ended:
    return child.run([sys.executable, "-S", "-c", script], os.environ, seconds, show)


def test_the_exit_code_and_both_streams_are_returned_line_by_line() -> None:
    shown: list[str] = []
    script = "import sys, os; os.write(1, b'one\\n\\n10%\\r20%\\r'); os.write(2, b'bad \\xff'); sys.exit(3)"
    ended = run(script, show=shown.append)
    assert ended == Ended(3, ("one", "10%", "20%", "bad \ufffd"))
    assert shown == ["one", "10%", "20%", "bad \ufffd"]


def test_only_the_last_lines_are_held_and_long_ones_are_cut() -> None:
    ended = run("for n in range(1000): print(n)\nprint('x' * 1_000_000, end='')")
    assert ended.code == 0
    assert ended.lines == (*map(str, range(1001 - child.LINES, 1000)), "x" * child.WIDTH)


def test_it_gets_no_input_no_shell_and_only_the_given_environment() -> None:
    script = "import os, sys; print(sys.stdin.read() == '', sys.argv[1], sorted(os.environ)[:1])"
    ended = child.run([sys.executable, "-S", "-c", script, "$HOME; ls"], {"A_NAME": "x"}, None, lambda line: None)
    assert ended.lines == ("True $HOME; ls ['A_NAME']",)


SLEEPER = "import subprocess, sys; p = subprocess.Popen(['sleep', '1000']); print(p.pid, flush=True)"


def test_one_that_takes_too_long_is_stopped_with_its_children() -> None:
    ended = run(f"{SLEEPER}; p.wait()", seconds=1.0)
    assert ended.code is None
    until(lambda: not is_alive(int(ended.lines[0])))


def test_what_a_program_leaves_behind_ends_with_it() -> None:
    started = time.monotonic()
    ended = run(SLEEPER)
    assert ended.code == 0
    assert time.monotonic() - started < PATIENCE  # though the other one holds its output open
    until(lambda: not is_alive(int(ended.lines[0])))


def test_one_that_ignores_the_signal_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "GRACE", 0.2)
    script = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(1000)"
    )
    assert run(script, seconds=1.0) == Ended(None, ("on",))


def test_a_stop_of_this_process_ends_it_too() -> None:
    def stop(line: str) -> None:
        pids.append(int(line))
        raise KeyboardInterrupt

    pids: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run("import os, time; print(os.getpid(), flush=True); time.sleep(1000)", show=stop)
    until(lambda: not is_alive(pids[0]))


def test_a_signal_that_killed_it_is_a_negative_code() -> None:
    assert run("import os; os.kill(os.getpid(), 9)").code == -signal.SIGKILL


def test_a_program_that_is_not_there_cannot_be_started() -> None:
    with pytest.raises(OSError, match="No such file"):
        child.run(["/nowhere/program"], {}, None, lambda line: None)

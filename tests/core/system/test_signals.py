"""What ends a run: a signal that a library loses too, at the next stage."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from recx.core.progress import Stages
from recx.core.system.signals import Interrupted, raise_if_stopped, stoppable

NUMBERS = pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Interrupted)], ids=["int", "term"]
)


def lose(number: int) -> None:
    """Receive a signal as a library that catches everything."""
    try:
        os.kill(os.getpid(), number)
        time.sleep(5)
    except KeyboardInterrupt:
        pass


@NUMBERS
def test_a_signal_that_a_library_loses_is_raised_at_the_end(number: int, kind: type[KeyboardInterrupt]) -> None:
    def ignored() -> None:
        with stoppable():
            lose(number)

    def changed() -> None:
        with stoppable():
            try:
                os.kill(os.getpid(), number)
                time.sleep(5)
            except KeyboardInterrupt as error:
                raise ValueError("half imported") from error

    for way in (ignored, changed):
        with pytest.raises(KeyboardInterrupt) as raised:
            way()
        assert raised.type is kind
        raise_if_stopped()  # it is done with


@NUMBERS
def test_it_ends_the_stage_in_which_it_was_lost(number: int, kind: type[KeyboardInterrupt]) -> None:
    done, stage = [], Stages()

    def run() -> None:
        with stoppable(), stoppable():  # as of the command line and of a tracker
            with stage("load"):
                lose(number)
                done.append("load")
            done.append("split")

    with pytest.raises(KeyboardInterrupt) as raised:
        run()
    assert raised.type is kind
    assert done == ["load"]
    assert not stage.seconds


def test_it_ends_the_run_before_the_next_stage() -> None:
    stage = Stages()

    def run() -> None:
        with stoppable():
            lose(signal.SIGTERM)  # between stages
            with stage("load"):
                pytest.fail("it began")

    with pytest.raises(Interrupted, match="stopped by SIGTERM"):
        run()


def test_other_threads_need_no_signal_handler() -> None:
    done: list[bool] = []

    def work() -> None:
        with stoppable():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]

"""SIGTERM and Ctrl-C, which end a run in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOPPED = "stopped by SIGTERM"


class Interrupted(KeyboardInterrupt):
    """The process received SIGTERM, which ends a run as Ctrl-C does."""


_received: list[int] = []
"""The signals that reached the process since the outermost ``stoppable`` began."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise ``Interrupted`` inside when the process receives SIGTERM, and ``KeyboardInterrupt`` on Ctrl-C.

    A library may turn this exception into another, or lose it: then it is raised by the next ``raise_if_stopped``, at
    the latest at the end of the context. Ctrl-C is left alone where something else handles or ignores it, as in a
    process in the background.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
        raise_if_stopped()
    except Exception:
        raise_if_stopped()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if before[signal.SIGTERM] is not _interrupt:
            _received.clear()


def raise_if_stopped() -> None:
    """Raise the exception of a signal that was received inside ``stoppable`` and lost by a library."""
    if _received:
        raise Interrupted(STOPPED) if _received[-1] == signal.SIGTERM else KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise_if_stopped()

"""A Ray cluster around the trials that Hydra's launcher hands to it, and what a trial does as a task of Ray's."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recx.core.errors import InputError, RecxError
from recx.jobs.sweep.journal import FILE

EVERYWHERE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",  # it takes the lines of two trials for one line said twice
    "RAY_COLOR_PREFIX": "0",
    "RAY_task_oom_retries": "3",  # its own default is for ever
}
STARTED_HERE = {
    "RAY_AUTH_MODE": "token",  # its own default here; said aloud, it spares the user a warning
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # as on those, all its servers listen on 127.0.0.1 only
}
JOINED = {"RAY_NUM_REDIS_GET_RETRIES": "2"}  # 40 seconds each, if the cluster is gone; its own default is 20
"""Ray's settings, which it reads when it is imported; what the user's environment says goes before them."""


@contextmanager
def cluster(init: Mapping[str, Any]) -> Iterator[None]:
    """Start Ray, or join a cluster, inside; at the end nothing of this sweep runs there any more.

    init: arguments of ``ray.init``.

    Raises:
        InputError: there is no such cluster, or Ray does not take the arguments.
        RecxError: Ray itself came to grief; what was done is in the sweep's book.
    """
    _check_reachable(str(init.get("address")))
    os.environ.update({name: value for name, value in _settings(init).items() if name not in os.environ})
    import ray
    from ray.exceptions import RayError

    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**init)
    except (ConnectionError, ValueError, RuntimeError, RayError) as error:
        raise InputError(f"hydra.launcher.ray.init: {_in_one_line(error)}") from error
    finally:
        signal.signal(signal.SIGTERM, handler)  # Ray's own would leave without ending the runs in order
    try:
        yield
    except RayError as error:
        said = _in_one_line(getattr(error, "cause", None) or error)
        raise RecxError(f"Ray stopped the sweep: {said} (resume=last goes on with what is missing)") from error
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise InputError where nobody answers at HOST:PORT, for which Ray would wait many minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"hydra.launcher.ray.init.address={address}: nobody answers there ({error}): give the HOST:PORT that "
            "`ray start --head` printed, auto, or local"
        ) from error


def _settings(init: Mapping[str, Any]) -> dict[str, str]:
    return {**EVERYWHERE, **(STARTED_HERE if init.get("address") == "local" else JOINED)}


def _in_one_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


@contextmanager
def task() -> Iterator[None]:
    """Let SIGTERM inside be the death of a worker, after which Ray tries its trial again.

    A task that ends by ``KeyboardInterrupt`` is one that was cancelled to Ray, which would end the sweep.
    """
    try:
        yield
    except KeyboardInterrupt as stop:
        raise SystemExit(str(stop)) from stop


def check_shared(sweep: Path) -> None:
    """Raise RecxError where this machine does not see the folder that the sweep was begun in."""
    if not (sweep / FILE).is_file():
        raise RecxError(
            f"{sweep}: on {socket.gethostname()} this is not the sweep's folder: all machines of a cluster need the "
            "working directory at one path, on a disk that they share"
        )


def check_tries(max_retries: int) -> None:
    """Raise RecxError where this is the last of Ray's tries, so that the trial is marked and the others go on."""
    import ray

    died = ray.get_runtime_context().worker.core_worker.get_current_task_attempt_number()
    if 0 < max_retries <= died:
        raise RecxError(f"its worker died {died} times (out of memory, killed or crashed)")

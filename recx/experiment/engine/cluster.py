"""Starts Ray on this machine, or joins a cluster, for as long as a computation lasts."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from recx.core.errors import InputError

LOCAL = "local"
"""The address of a Ray that is started on this machine, for this process only."""
EVERYWHERE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",  # or lines of two trials would be merged into one
    "RAY_COLOR_PREFIX": "0",
    "RAY_task_oom_retries": "3",  # Ray's default is infinite
}
STARTED_HERE = {
    "RAY_AUTH_MODE": "token",  # Ray's default here; setting it avoids a warning
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # as on those, all servers listen on 127.0.0.1 only
}
JOINED = {"RAY_NUM_REDIS_GET_RETRIES": "2"}  # of 40 seconds each, if the cluster is gone; Ray's default is 20
SILENT = {"RAY_DEDUP_LOGS": "1", "RAY_DEDUP_LOGS_SKIP_REGEX": "."}  # or each death of a worker would be told at length
"""Ray's settings, which it reads when it is imported; the user's environment takes precedence."""


@contextmanager
def cluster(init: Mapping[str, Any], key: str) -> Iterator[None]:
    """Start Ray or join a cluster; on exit nothing of this process runs there any more.

    Args:
        init: Arguments of ``ray.init``.
        key: What the user's settings of these arguments begin with, for errors.

    Raises:
        InputError: The cluster does not exist, or Ray does not accept the arguments.
    """
    check_reachable(str(init.get("address")), key)
    settings = {**EVERYWHERE, **(STARTED_HERE if init.get("address") == LOCAL else JOINED)}
    settings |= {} if init.get("log_to_driver", True) else SILENT
    os.environ.update({**settings, **os.environ})
    import ray
    from ray.exceptions import RayError

    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**init)
    except (ConnectionError, ValueError, RuntimeError, RayError) as error:
        raise InputError(f"{key}: {first_line(error)}") from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray's own handler would exit without ending the runs properly
    try:
        yield
    finally:
        ray.shutdown()


def check_reachable(address: str, key: str) -> None:
    """Raise InputError if there is no server at HOST:PORT, for which Ray would wait many minutes."""
    silent = no_answer(address)
    if silent is not None:
        raise InputError(
            f"{key}.address={address}: no server answers there ({silent}): give the HOST:PORT that "
            "`ray start --head` printed, or auto, or leave it out"
        )


def no_answer(address: str) -> Exception | None:
    """Return why no server answers at HOST:PORT; None if one does, or if the address is a word such as auto."""
    host, _, port = address.rpartition(":")
    try:
        if port.isdigit():
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        return error
    return None


def first_line(error: BaseException) -> str:
    """Return the first line of what Ray says, whose messages are long."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__

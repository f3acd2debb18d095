"""``python -m recx ui``: MLflow's pages on the runs of a store, for this machine only."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

from recx.errors import InputError, RecxError
from recx.tracker import store
from recx.tracker.process import stoppable

HOST = "127.0.0.1"
QUIET = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # a quarter of the memory, and recx has no jobs for it
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "PYTHONWARNINGS": "ignore",  # the server's libraries complain of each other
}


def open_ui(uri: str | None = None, port: int = 5000) -> None:
    """Serve the store's pages until Ctrl-C.

    uri: the store; None: the sqlite file ``outputs/mlflow.db`` of the working directory.

    Raises:
        InputError: there is no such store, or the port is taken.
        RecxError: the server ended by itself.
    """
    address = store.absolute(uri)
    if address.startswith("http"):
        raise InputError(f"tracker.uri={address} is a server with pages of its own: open {address} in a browser")
    file = store.database(address)
    if file is not None and not file.is_file():
        raise InputError(f"there are no runs in {file} yet: start one with `python -m recx +experiment=news`")
    _check_port(port)
    _serve(address, port)


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            reason = (
                "is in use"
                if isinstance(error, OSError) and not isinstance(error, PermissionError)
                else "cannot be used"
            )
            raise InputError(
                f"port {port} of {HOST} {reason}: choose another, such as --port {port % 60_000 + 1}"
            ) from error


def _serve(uri: str, port: int) -> None:
    print(f"starting MLflow on {uri} ...", flush=True)
    # A session of its own: Ctrl-C reaches this process alone, which then ends the server and its worker in order.
    server = subprocess.Popen(_command(uri, port), env={**QUIET, **os.environ}, start_new_session=True)
    try:
        with stoppable():
            while server.poll() is None and not _answers(port):
                time.sleep(0.2)
            if server.poll() is None:
                print(
                    f"http://{HOST}:{port}/#/experiments?workflowType=machine_learning   (Ctrl-C ends it)", flush=True
                )
            code = server.wait()
    except KeyboardInterrupt:
        return
    finally:
        server.terminate()
        server.wait()
    raise RecxError(f"the MLflow server ended by itself with code {code}: its reason stands above")


def _command(uri: str, port: int) -> list[str]:
    options = {
        "--backend-store-uri": uri,
        "--registry-store-uri": uri,
        "--host": HOST,
        "--port": str(port),
        "--workers": "1",
        "--uvicorn-opts": "--log-level warning",
    }
    return [sys.executable, "-m", "mlflow", "ui", *(word for option in options.items() for word in option)]


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0

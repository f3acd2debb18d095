"""``python -m recx ui``: MLflow's pages for the runs of a store, on this machine only."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from recx.core.errors import InputError, RecxError
from recx.core.secrets import hidden
from recx.core.system.screen import echo
from recx.core.system.signals import stoppable
from recx.tracking import store, view
from recx.tracking.found_runs import find_run
from recx.tracking.sqlite_runs import newest_experiment

HOST = "127.0.0.1"
QUIET = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # saves a quarter of the memory; recx does not use these jobs
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "PYTHONSAFEPATH": "1",  # the current folder, which may be a stranger's, is not where libraries are
    "PYTHONWARNINGS": "ignore",  # of the server's libraries about each other
}


def page_of_run(server: str, experiment_id: str, run_id: str) -> str:
    """Return the address of a run's page on a server, without a password."""
    return f"{_public(server)}/#/experiments/{experiment_id}/runs/{run_id}?workflowType=machine_learning"


def _public(server: str) -> str:
    return re.sub("//[^/]*@", "//", hidden(server)).rstrip("/")


def open_ui(run: str = "", uri: str | None = None, port: int = 5000) -> None:
    """Run ``mlflow server`` on a store until Ctrl-C, and print the address of a run, or of all experiments.

    Args:
        run: The beginning of the id of a run; "": all.
        uri: The store; None: that of ``MLFLOW_TRACKING_URI``, else the sqlite file ``outputs/mlflow.db``.
        port: Where the pages are served.

    Raises:
        InputError: There is no such store or run, or the port is taken.
        RecxError: The server ended unexpectedly.
    """
    address = store.absolute(uri)
    if address.startswith("http"):
        page = _public(address)
        raise InputError(f"the store {page} is a server with its own pages: open {page} in a browser")
    file = store.database(address)
    if file is not None and not file.is_file():
        raise InputError(f"there are no runs in {file} yet: start one with `python -m recx +experiment=news`")
    if not 0 < port < 2**16:
        raise InputError(f"--port {port}: it must be a whole number from 1 to 65535, such as 5000")
    if _answers(port):
        raise InputError(f"port {port} of {HOST} is in use: choose another, such as --port {port % 60_000 + 1}")
    page = _page(file, run, f"http://{HOST}:{port}")
    echo(f"starting MLflow on {hidden(address)} ...", flush=True)
    place = ["--host", HOST, "--port", str(port)]
    command = [sys.executable, "-m", "mlflow", "server", *place, "--workers", "1"]
    environment = {**QUIET, **os.environ, "MLFLOW_BACKEND_STORE_URI": address}  # not an argument, which others may see
    # In a new session, Ctrl-C reaches this process only, which then ends the server and its worker properly.
    server = subprocess.Popen(
        [*command, "--uvicorn-opts", "--log-level warning"], env=environment, start_new_session=True
    )
    try:
        with stoppable():
            while server.poll() is None and not _answers(port):
                time.sleep(0.2)
            if server.poll() is None:
                echo(f"{page}   (Ctrl-C ends it)", flush=True)
            code = server.wait()
    except KeyboardInterrupt:
        return
    finally:
        server.terminate()
        server.wait()
    raise RecxError(f"the MLflow server ended by itself with code {code}: see its messages above")


def _page(file: Path | None, run: str, server: str) -> str:
    """Return the page of a run of a sqlite store, or the runs of the experiment that was run last."""
    if not run:
        newest = newest_experiment(file) if file is not None else ""
        place = f"experiments/{newest}/runs?viewStateShareKey={view.KEY}&" if newest else "experiments?"
        return f"{server}/#/{place}workflowType=machine_learning"
    if file is None:
        raise InputError(
            f"{run}: runs are looked up in sqlite stores only: leave it out, and choose the run on the page"
        )
    found = find_run(f"{store.SQLITE}{file}", run)
    if found is None:
        raise InputError(f"{run}: {file} has no run of this id or name: `python -m recx runs` shows all")
    return page_of_run(server, found.experiment, found.id)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0

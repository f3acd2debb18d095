"""Whatever a process does, its job has an outcome, and the others go on."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE

from recx.jobs.benchmark.processes import Processes

WORKER = """
import json, os, signal, sys, time
job = json.loads(sys.stdin.readline())
if job["name"] == "hangs": time.sleep(1000)
if job["name"] == "dies": os.kill(os.getpid(), signal.SIGKILL)
if job["name"] == "stops": os.kill(os.getpid(), signal.SIGTERM)
if job["name"] == "leaves": print("a last word", file=sys.stderr); os._exit(7)
reason = {"reason": "no luck"} if job["name"] == "raises" else {"figures": job["name"]}
open(os.path.join(job["folder"], "outcome.json"), "w").write(json.dumps(reason))
open(os.path.join(job["folder"], "pid"), "w").write(str(os.getpid()))
sys.exit("reason" in reason)
"""


def processes(timeout: float = PATIENCE) -> Processes:
    return Processes(timeout, (sys.executable, "-c", WORKER))


def jobs(folder: Path, *names: str) -> list[dict[str, Any]]:
    return [{"name": name, "folder": str(folder / name)} for name in names]


def quiet(name: str, outcome: Mapping[str, Any]) -> None:
    assert outcome["seconds"] >= 0


def test_every_way_to_fail_is_one_line_and_the_others_go_on(tmp_path: Path) -> None:
    reported: dict[str, Mapping[str, Any]] = {}
    names = ("raises", "dies", "stops", "leaves", "fine")
    found = processes().outcomes(jobs(tmp_path, *names), 2, lambda name, outcome: reported.update({name: outcome}))
    assert [outcome.get("reason") for outcome in found] == [
        "no luck",
        "killed by SIGKILL (out of memory?)",
        "killed by SIGTERM",
        "its process ended with the exit code 7: a last word",
        None,
    ]
    assert found[-1]["figures"] == "fine"
    assert reported == dict(zip(names, found, strict=True))
    assert not (tmp_path / "fine" / "worker.log").exists()


def test_an_unexpected_error_leaves_its_traceback_and_the_reason_says_where(tmp_path: Path) -> None:
    [found] = Processes(PATIENCE).outcomes(jobs(tmp_path, "odd"), 1, quiet)
    assert found["reason"] == "KeyError: 'config' (see odd/worker.log)"
    assert "Traceback" in (tmp_path / "odd" / "worker.log").read_text()


def test_a_process_that_hangs_is_killed_in_time(tmp_path: Path) -> None:
    start = time.monotonic()
    [found] = processes(1.0).outcomes(jobs(tmp_path, "hangs"), 1, quiet)
    assert found["reason"] == "timed out: it took longer than timeout_s=1"
    assert time.monotonic() - start < PATIENCE


def test_what_stops_the_benchmark_ends_the_processes(tmp_path: Path) -> None:
    def stop(name: str, outcome: Mapping[str, Any]) -> None:
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        processes(2 * PATIENCE).outcomes(jobs(tmp_path, "fine", "hangs"), 2, stop)
    assert time.monotonic() - start < PATIENCE


def test_the_worker_exits_with_the_process_that_started_it(tmp_path: Path) -> None:
    import subprocess

    root = Path(__file__).resolve().parents[3]
    script = (
        "import threading, time; from recx.jobs.benchmark import worker\n"
        "threading.Thread(target=worker._exit_with_starter, daemon=True).start(); time.sleep(1000)"
    )
    environment = {**os.environ, "PYTHONPATH": str(root)}
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(PATIENCE) == 1


def test_an_outcome_is_read_as_it_was_written(tmp_path: Path) -> None:
    processes().outcomes(jobs(tmp_path, "fine"), 1, quiet)
    assert json.loads((tmp_path / "fine" / "outcome.json").read_text()) == {"figures": "fine"}

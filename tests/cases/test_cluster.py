"""Blocks on a real Ray of two nodes: the same figures as on one core, also if a node is killed in mid-run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from waiting import PATIENCE, free_port, is_alive, until

from recx.tracking.store import open_client

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[ray]' in recx's checkout")

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["+experiment=news", "dataset.readers=60", "dataset.articles=50", "n_candidates=10", "retriever=popularity"]
RUN = [*SMALL, "feature=basic", "runtime.threads=1", "hydra.run.dir=run"]
RECX = """\
import sys
from recx.experiment import blocks
blocks.REQUESTS = 5
from recx.cli.main import main
sys.exit(main())
"""
PATIENT = '''\
"""A ranker that says which process it is in, and waits for leave to go on."""

import os, time
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Patient:
    folder: str

    def rank(self, candidates, history, requests):
        Path(self.folder, f"begun-{os.getpid()}").touch()
        while not Path(self.folder, "go").exists():
            time.sleep(0.02)
        return candidates.reorder(np.cos(candidates.item * 1.0).astype(np.float32))
'''
STAND_INS = '''\
"""Serves blocks in several ways, and prints, as JSON, what became of each."""

import json, os, signal, sys, threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recx.core.errors import InputError
from recx.core.types import Requests
from recx.experiment.engine.ray import Ray

ADDRESS, FOLDER = sys.argv[1:]
sys.path.append(FOLDER)  # of this process only
import only_here


class History:
    def __init__(self):
        self.item, self.served = np.arange(3_000_000), 0


@dataclass(frozen=True)
class Work:
    kind: str = ""
    history: Any = None

    def __call__(self, block):
        if self.kind == "wrong setting":
            raise InputError("ranker.l2: it is wrong")
        if self.kind == "error":
            return 1 / 0
        if self.kind == "killed" or (self.kind == "killed once" and not Path(FOLDER, "killed").exists()):
            Path(FOLDER, "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        seen = ()
        if self.kind == "history":
            self.history.served += 1
            seen = os.getpid(), self.history.served, self.history.item.flags.writeable, os.environ["OMP_NUM_THREADS"]
        return int(block.user[0]), *seen


def outcome(work, n=8, **settings):
    taken, results, ahead = [], [], 0

    def blocks():
        for user in range(n):
            taken.append(user)
            yield Requests(np.array([user], dtype=np.int32))

    try:
        for result in Ray(address=ADDRESS, **settings).each(work, blocks()):
            ahead = max(ahead, len(taken) - len(results))
            results.append(result)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return [results, ahead]


print(json.dumps({
    "history": outcome(Work("history", History()), n=40),
    "killed once": outcome(Work("killed once")),
    "wrong setting": outcome(Work("wrong setting")),
    "error": outcome(Work("error")),
    "killed": outcome(Work("killed"), max_retries=1),
    "lock": outcome(Work("", threading.Lock())),
    "only here": outcome(Work("", only_here.Thing())),
    "cores": outcome(Work(""), num_cpus=64),
}))
'''


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RECX_"))}
    of_ray = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64, "RAY_USAGE_STATS_ENABLED": "0"}
    soon = {"RAY_health_check_period_ms": "500", "RAY_health_check_initial_delay_ms": "500"}  # a lost node is noticed
    return {**known, **of_ray, **soon, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def during(process: subprocess.Popen[Any], found: Callable[[], Any]) -> Any:
    """Return what is found as soon as it is something; the process must not have ended by then."""
    return until(found, lambda: process.poll() is not None and f"it has ended with {process.returncode}")


@contextmanager
def node(environment: dict[str, str], *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a node of a cluster, in a group of processes of its own, and kill it at the end."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--node-ip-address=127.0.0.1"]
    command += ["--num-cpus=1", "--object-store-memory=500000000", "--disable-usage-stats", *words]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, env=environment, stdout=said, stderr=said, start_new_session=True) as process,
    ):
        try:
            during(process, lambda: b"Ray runtime started" in os.pread(said.fileno(), 1 << 20, 0))
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def head(environment: dict[str, str]) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:  # short paths
        words = ["--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}"]
        with node(environment, *words) as process:
            yield f"127.0.0.1:{port}", process


class Cluster(NamedTuple):
    """Its address, its head, and the node that is not the head."""

    address: str
    head: subprocess.Popen[bytes]
    other: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def cluster(environment: dict[str, str]) -> Iterator[Cluster]:
    """Return a cluster of two nodes, which the first test and the last each rob of one."""
    with head(environment) as (address, of_head), node(environment, f"--address={address}") as other:
        yield Cluster(address, of_head, other)


@contextmanager
def started(folder: Path, environment: dict[str, str], *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run an experiment beside the test, in a session of its own; whatever happens, it is over at the end."""
    (folder / "home" / "conf" / "ranker").mkdir(parents=True)
    (folder / "home" / "conf" / "ranker" / "patient.yaml").write_text(
        "# waits\n_target_: patient.Patient\nfolder: null\n"
    )
    (folder / "home" / "patient.py").write_text(PATIENT)
    own = ["--config-dir", str(folder / "home" / "conf"), "ranker=patient", f"ranker.folder={folder}"]
    command = [sys.executable, "-c", RECX, *own, *RUN, *words]
    with subprocess.Popen(
        command, cwd=folder, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def workers(folder: Path, n: int, process: subprocess.Popen[str]) -> list[int]:
    """Return the processes that are in the midst of a block, as soon as there are so many."""
    found = during(process, lambda: (now := sorted(folder.glob("begun-*"))) and len(now) >= n and now)
    return [int(file.name.partition("-")[2]) for file in found]


def in_session(number: int) -> list[int]:
    """Return the living processes of a session."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = file.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == number and state not in "ZX":
            found.append(int(file.parent.name))
    return found


def figures(folder: Path) -> dict[str, float]:
    metrics = json.loads((folder / "run" / "metrics.json").read_text())
    return {name: value for name, value in metrics.items() if not name.startswith("time/")}


def status(folder: Path) -> list[str]:
    return [run.info.status for run in open_client(f"sqlite:///{folder}/outputs/mlflow.db").search_runs(["1"])]


def test_a_cluster_gives_the_same_figures_as_one_core_although_a_node_is_killed(
    tmp_path: Path, environment: dict[str, str], cluster: Cluster
) -> None:
    alone, many = tmp_path / "alone", tmp_path / "many"
    with started(many, environment, "engine=ray", f"engine.address={cluster.address}") as process:
        first, second = workers(many, 2, process)
        os.killpg(cluster.other.pid, signal.SIGKILL)
        until(lambda: not (is_alive(first) and is_alive(second)))
        (many / "go").touch()
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out + err
    assert "(raylet)" not in out + err
    with started(alone, environment) as process:
        (alone / "go").touch()
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out + err
    assert figures(many) == figures(alone)
    lists = [folder / "run" / "recommendations.parquet" for folder in (many, alone)]
    assert lists[0].read_bytes() == lists[1].read_bytes()


def test_what_becomes_of_blocks_on_a_cluster(tmp_path: Path, environment: dict[str, str], cluster: Cluster) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "only_here.py").write_text("class Thing: pass\n")
    (tmp_path / "stand_ins.py").write_text(STAND_INS)
    done = subprocess.run(
        [sys.executable, "stand_ins.py", cluster.address, str(tmp_path / "lib")],
        cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    became = json.loads(done.stdout)

    results, ahead = became["history"]
    assert isinstance(ahead, int), became["history"]
    assert [user for user, *_ in results] == list(range(40))
    assert {tuple(rest) for *_, rest in ([row[3:]] for row in results)} == {(False, "1")}  # read in place; one thread
    for process in {pid for _, pid, *_ in results}:
        served = [number for _, pid, number, *_ in results if pid == process]
        assert served == list(range(1, len(served) + 1))  # what the process remembers of the history stays
    assert ahead <= 4  # for two cores
    assert became["killed once"][0] == [[user] for user in range(8)]
    assert became["wrong setting"] == ["InputError", "ranker.l2: it is wrong"]
    assert became["error"] == ["ZeroDivisionError", "division by zero"]
    for kind, sentence in {
        "killed": r"the worker of a block died each time .* raise engine\.num_cpus",
        "lock": r"the history \(lock\) cannot be sent .*cannot pickle '_thread\.lock' object.*: choose engine=local",
        "only here": r"cannot load the fitted parts \(ModuleNotFoundError: No module named 'only_here'\)",
        "cores": r"engine\.num_cpus=64: none of the machines in the cluster \(\d\) offers as many cores",
    }.items():
        assert re.search(sentence, became[kind][1]), became[kind]


def test_ctrl_c_in_mid_run_leaves_no_process(tmp_path: Path, environment: dict[str, str]) -> None:
    with started(tmp_path / "run", environment, "engine=ray") as process:
        workers(tmp_path / "run", 1, process)
        assert len(in_session(process.pid)) > 3  # Ray's servers and workers among them
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.endswith("interrupted\n")
    until(lambda: not in_session(process.pid))
    assert status(tmp_path / "run") == ["KILLED"]
    assert not (tmp_path / "run" / "run" / "metrics.json").exists()


def test_a_cluster_that_is_gone_ends_the_run_in_one_sentence(
    tmp_path: Path, environment: dict[str, str], cluster: Cluster
) -> None:
    folder = tmp_path / "run"
    with started(folder, environment, "engine=ray", f"engine.address={cluster.address}") as process:
        workers(folder, 1, process)
        os.killpg(cluster.head.pid, signal.SIGKILL)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert re.search(r"engine=ray: (the cluster is gone|the head of the cluster, .*, does not answer any more)", err)
    assert status(folder) == ["FAILED"]
    assert not (folder / "run" / "metrics.json").exists()

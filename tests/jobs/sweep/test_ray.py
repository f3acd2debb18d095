"""Sweeps on a real Ray: workers that are killed in mid-trial, a trial that always kills its worker, Ctrl-C.

Ray and each of its workers take seconds to start, so that one cluster serves all tests that need no Ray of their own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from waiting import PATIENCE, is_alive, until

from recx.tracking.store import open_client

pytestmark = pytest.mark.slow
pytest.importorskip(
    "hydra_plugins.hydra_ray_launcher",
    reason="Ray's launcher is not installed: pip install -e '.[ray]' in recx's checkout",
)

ROOT = Path(__file__).resolve().parents[3]
SMALL = ["+experiment=news", "dataset.readers=60", "dataset.articles=50", "n_candidates=10", "retriever=popularity"]
SWEEP = [*SMALL, "ranker=patient", "feature=basic", "runtime.threads=1", "fold=valid", "sweep_id=mine"]
THREE = "ranker.number=0,1,2"
ON_RAY = ["hydra/launcher=ray", "hydra.launcher.ray.init.num_cpus=2"]
CLUSTER = """\
import sys, ray
ray.init(address="local", include_dashboard=False, num_cpus=2, logging_level="warning")
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
"""
PART = '''\
"""A ranker that tells which process it is in, and waits for leave to go on."""

import os, signal, time
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Patient:
    number: int = 0

    def rank(self, candidates, history, requests):
        Path(f"begun-{self.number}").write_text(str(os.getpid()))
        while not Path("go").exists():
            time.sleep(0.02)
        if self.number == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        return candidates.reorder(np.cos(candidates.item * (1.0 + self.number)).astype(np.float32))
'''


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the plugin that brings the ranker, laid out as pip would."""
    folder = tmp_path_factory.mktemp("site")
    conf, info = folder / "recx_patient" / "conf" / "ranker", folder / "recx_patient-1.0.dist-info"
    conf.mkdir(parents=True)
    info.mkdir()
    (folder / "recx_patient" / "__init__.py").write_text(PART)
    (conf / "patient.yaml").write_text("# waits\n_target_: recx_patient.Patient\nnumber: 0 # which trial\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recx-patient\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[recx.plugins]\npatient = recx_patient\n")
    return folder


@pytest.fixture(scope="module")
def environment(site: Path) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RECX_"))}
    return {**known, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}", "OMP_NUM_THREADS": "1", "RAY_AUTH_TOKEN": "0" * 64}


@contextmanager
def started(folder: Path, environment: dict[str, str], *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a sweep beside the test; whatever happens, it is over at the end."""
    command = [sys.executable, "-m", "recx", "-m", *SWEEP, *words]
    with subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def sweep(folder: Path, environment: dict[str, str], *words: str) -> tuple[int, str]:
    (folder / "go").touch()
    with started(folder, environment, *words) as process:
        out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out + err


def worker(folder: Path, number: int, process: subprocess.Popen[str]) -> int:
    """Return the pid of the worker that is in the midst of a trial of a sweep, as soon as there is one."""
    file = folder / f"begun-{number}"
    found = until(lambda: file.exists() and file.read_text(), lambda: process.poll() is not None and "the sweep ended")
    return int(found)


def summary(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "outputs" / "sweeps" / "mine" / "summary" / "sweep.csv")


def objectives(folder: Path) -> dict[int, float]:
    """Return the objective of each trial that has one, by its number."""
    finished: dict[int, float] = summary(folder).set_index("ranker.number")["objective"].dropna().to_dict()
    return finished


def runs(folder: Path) -> dict[str, list[str]]:
    """Return how runs ended, sorted, by the beginning of their names; all but the sweep's lie beneath that one."""
    found = open_client(f"sqlite:///{folder}/outputs/mlflow.db").search_runs(["1"])
    [parent] = [run.info.run_id for run in found if run.data.tags.get("recx.role") == "sweep"]
    assert {run.data.tags.get("mlflow.parentRunId") for run in found if run.info.run_id != parent} == {parent}
    ended: dict[str, list[str]] = {}
    for run in found:
        ended.setdefault(run.info.run_name.partition(":")[0].partition(",")[0], []).append(run.info.status)
    return {name: sorted(statuses) for name, statuses in ended.items()}


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> dict[int, float]:
    folder = tmp_path_factory.mktemp("serial")
    code, said = sweep(folder, environment, THREE)
    assert code == 0, said
    found = objectives(folder)
    assert len({*found.values()}) == 3
    return found


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs already.

    Attributes:
        launcher: The overrides of a sweep on it.
        environment: The variables of its processes, and of those that join it.
        folder: Its working directory.
    """

    launcher: list[str]
    environment: dict[str, str]
    folder: Path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    environment = {**environment, "RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    command, pipe = [sys.executable, "-c", CLUSTER], subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        yield Cluster(["hydra/launcher=ray", f"hydra.launcher.ray.init.address={address}"], environment, folder)
        assert process.stdin
        process.stdin.close()


def test_trials_whose_workers_are_killed_are_tried_again_and_one_that_always_kills_its_own_is_marked(
    tmp_path: Path, cluster: Cluster, serial: dict[int, float]
) -> None:
    words = ["ranker.number=0,1,13,2", *cluster.launcher, "hydra.launcher.ray.remote.max_retries=2"]
    with started(tmp_path, cluster.environment, *words) as process:
        killed, stopped = worker(tmp_path, 0, process), worker(tmp_path, 1, process)
        assert killed != stopped
        os.kill(killed, signal.SIGKILL)
        os.kill(stopped, signal.SIGTERM)
        until(lambda: not (is_alive(killed) or is_alive(stopped)))
        (tmp_path / "go").touch()
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, out + err
    assert objectives(tmp_path) == serial
    table = summary(tmp_path)
    assert list(table["ranker.number"])[3] == 13
    assert table["reason"][3] == "its worker died 2 times (out of memory, killed or crashed)"
    ended = runs(tmp_path)
    assert ended.pop("ranker.number=13") == ["KILLED", "KILLED"]
    once, twice = ["FINISHED"], ["FINISHED", "KILLED"]
    expected = {f"ranker.number={number}": twice if number < 2 else once for number in range(3)}
    assert ended == {"sweep of ranker.number": once, "best": once, **expected}
    assert not (tmp_path / "mlruns").exists()
    assert list(cluster.folder.iterdir()) == []  # the trials work in the folder of the sweep


def test_ctrl_c_ends_the_trials_in_order_and_the_sweep_can_go_on_with_code_beside_the_folder_of_options(
    tmp_path: Path, environment: dict[str, str], serial: dict[int, float]
) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    (home / "conf").mkdir(parents=True)
    here.mkdir()
    (home / "own_patient.py").write_text(PART)
    words = ["--config-dir", str(home / "conf"), "ranker._target_=own_patient.Patient", THREE, *ON_RAY]
    with started(here, environment, *words) as process:
        workers = [worker(here, 0, process), worker(here, 1, process)]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.endswith("interrupted\n")
    until(lambda: not any(map(is_alive, workers)))
    killed = ["KILLED"]
    assert runs(here) == {"sweep of ranker.number": killed, "ranker.number=0": killed, "ranker.number=1": killed}
    code, said = sweep(here, environment, *words)
    assert code == 0, said
    assert objectives(here) == serial


def test_an_address_where_nobody_answers_is_told_at_once(tmp_path: Path, environment: dict[str, str]) -> None:
    code, said = sweep(
        tmp_path, environment, THREE, "hydra/launcher=ray", "hydra.launcher.ray.init.address=127.0.0.1:9"
    )
    assert code == 2
    assert "hydra.launcher.ray.init.address=127.0.0.1:9: no server answers there" in said


def test_a_worker_that_does_not_see_the_sweeps_folder_says_so(tmp_path: Path, cluster: Cluster) -> None:
    with started(tmp_path, cluster.environment, THREE, *cluster.launcher) as process:
        worker(tmp_path, 0, process)
        worker(tmp_path, 1, process)
        (tmp_path / "outputs" / "sweeps" / "mine" / "sweep.json").unlink()  # before the third begins
        (tmp_path / "go").touch()
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "does not see this folder of the sweep: all machines of a cluster need the same working directory" in err
    assert err.count("\n") == 1

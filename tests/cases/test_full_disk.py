"""A full disk costs the cache and never the run; a run that ended in an error or by a signal is not finished."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from waiting import PATIENCE

import recx
from recx.core.errors import InputError, RecxError
from recx.core.system.disk import is_full
from recx.core.system.own_folder import is_finished
from recx.experiment import saved_runs
from recx.jobs import launch
from recx.jobs.history import past_runs
from recx.storage.cache import full_disk, store
from recx.storage.cache.entries import describe, entries
from recx.tracking.mlflow import MlflowRun

from .conftest import CommandIn

TINY = ["+experiment=news", "dataset.readers=60", "dataset.articles=40", "tracker=console", "ranker=identity"]
OUTPUTS = Path("outputs")


@pytest.fixture
def mounted(here: Path) -> Iterator[Callable[[int], Path]]:
    """Return a function that mounts a disk of some kB; skips where nothing can be mounted."""
    place = here / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8000k", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")

    def of(size: int) -> Path:
        subprocess.run(["mount", "-o", f"remount,size={size}k", place], check=True)
        return place

    yield of
    os.chdir(here)
    subprocess.run(["umount", "-l", place], check=True)


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "recx", *words]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE)


def test_a_small_disk_takes_the_run_and_not_the_cache(mounted: Callable[[int], Path], command_in: CommandIn) -> None:
    done = command_in(mounted(8000), *TINY, "dataset.readers=300")
    assert (done.code, done.err) == (0, "")
    assert "the cache keeps no load (only 7 MB of its disk are free): check the disk" in done.out
    assert done.out.count("the cache keeps no") == 1


def test_a_run_that_does_not_fit_is_neither_finished_nor_the_last(
    mounted: Callable[[int], Path], command_in: CommandIn
) -> None:
    done = command_in(mounted(100), *TINY, "dataset.readers=2000", "dataset.articles=1000")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "No space left on device" in done.err
    assert "no runs under outputs yet" in command_in(mounted(8000), "runs").err
    assert "no run has finished" in command_in(mounted(8000), "explain", "last", "--worst", "1").err


def full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_cache_that_cannot_be_written_costs_no_run(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    def fail(folder: Path, stage: str, seconds: float) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(store, "describe", fail)
    result = recx.run(TINY)
    assert saved_runs.load("last").metrics["end_to_end/ndcg_at_5"] == result.metrics["end_to_end/ndcg_at_5"]
    assert capsys.readouterr().out.count(f"the cache keeps no load ({os.strerror(number)})") == 1
    assert not entries(Path(store.CACHE))


def test_the_cache_leaves_room(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=store.ROOM - 1))
    recx.run(TINY)
    assert not entries(Path(store.CACHE))


def filled(cache: Path, sizes: list[int]) -> None:
    for number, size in enumerate(sizes):
        place = cache / f"{number:02}" / f"{number:032}"[::-1]
        place = cache / f"0{number}" / f"0{number}{'0' * 30}"
        place.mkdir(parents=True)
        (place / "data").write_bytes(b"x" * size)
        describe(place, "load", 1.0)
        os.utime(place / "entry.json", (number, number))


def test_the_cache_makes_room_for_a_run(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(Path(store.CACHE), [10, 20, 30])
    monkeypatch.setattr(full_disk, "FIRST_FREED", 25)
    left = []

    def write() -> int:
        left.append(len(entries(Path(store.CACHE))))
        return 1 if left[-1] == 1 else full()

    assert full_disk.with_room(here, write) == 1
    assert left == [3, 1]  # the two that were used least recently
    with pytest.raises(OSError, match="No space left"):
        full_disk.with_room(here, full)
    assert not entries(Path(store.CACHE))
    with pytest.raises(InputError):  # other errors are none of a disk
        full_disk.with_room(here, lambda: (_ for _ in ()).throw(InputError("x")))


def test_every_name_of_a_full_disk_is_known() -> None:
    for error in (OSError(errno.EDQUOT, "x"), RuntimeError("(sqlite3.OperationalError) database or disk is full")):
        assert is_full(error)
        outer = RecxError("x")
        outer.__cause__ = error
        assert is_full(outer)
    assert not is_full(OSError(errno.EACCES, "Permission denied"))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("broken"), SystemExit(3)])
@pytest.mark.parametrize("step", ["write", "record"])
def test_a_run_that_ended_is_not_finished(
    here: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, step: str
) -> None:
    original = getattr(launch.Output, step)

    def fail(self: object, *arguments: object, **named: object) -> None:
        original(self, *arguments, **named)
        raise error

    monkeypatch.setattr(launch.Output, step, fail)
    with pytest.raises(RecxError if isinstance(error, RuntimeError) and step == "record" else type(error)) as raised:
        recx.run(TINY)
    if step == "record" and isinstance(error, RuntimeError):  # the tracker's error: the files are whole
        [folder] = OUTPUTS.glob("2*/*")
        assert f"broken; the run itself is complete, its files are in {folder.absolute()}" in str(raised.value)
        assert len(past_runs(OUTPUTS)) == 1
        return
    assert past_runs(OUTPUTS) == []
    with pytest.raises(InputError, match="no run has finished"):
        saved_runs.load("last")


def test_a_server_that_dies_at_the_end_leaves_the_figures(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mlflow.exceptions import MlflowException
    from requests import ConnectionError as Refused

    asked = []

    def gone(*_: object, **__: object) -> None:
        asked.append(1)
        raise MlflowException("API request to http://x failed") from Refused("refused")

    original = MlflowRun.log_metrics

    def die(self: MlflowRun, metrics: dict[str, float]) -> None:
        for method in ("log_batch", "set_tag", "set_terminated"):
            monkeypatch.setattr(self.client, method, gone)
        original(self, metrics)

    monkeypatch.setattr(MlflowRun, "log_metrics", die)
    with pytest.raises(RecxError, match=r"API request .* failed.*; the run itself is complete, its files are in"):
        recx.run([*TINY, "tracker=mlflow"])
    assert "ndcg" in capsys.readouterr().out
    assert len(asked) == 1  # who does not answer is not asked again
    assert saved_runs.load("last").metrics


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.4, 1.2])
def test_sigterm_at_any_time_is_one_sentence(here: Path, delay: float) -> None:
    finished, ended = True, 0
    while ended < 2:  # a library that is being imported may lose the signal, which ends the run at its next stage
        call = [sys.executable, "-m", "recx", *TINY[:3]]
        run = subprocess.Popen(call, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(delay)
        run.send_signal(signal.SIGTERM)
        said = run.communicate(timeout=PATIENCE)[1]
        if run.returncode == -signal.SIGTERM:  # before Python itself had started, which takes long on a busy machine
            assert not said
            delay *= 1.5
            assert delay < PATIENCE
            continue
        assert (run.returncode, said) == (130, "interrupted\n")
        ended += 1
        finished = finished and any(map(is_finished, OUTPUTS.glob("2*/*")))
        shutil.rmtree(here / "outputs", ignore_errors=True)
    assert not finished


LOSES = """
import os
import signal
import time
from dataclasses import dataclass

from recx.parts.retriever.popularity import Popularity


@dataclass(frozen=True)
class Loses(Popularity):
    def fit(self, history):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except BaseException:  # as some libraries do while they are imported
            pass
        print("fitted")
        return super().fit(history)

    def retrieve(self, history, requests, k):
        print("retrieved")
        return super().retrieve(history, requests, k)
"""


@pytest.mark.slow
def test_sigterm_that_a_part_loses_ends_the_run_after_its_stage(here: Path) -> None:
    (here / "conf/retriever").mkdir(parents=True)
    (here / "loses.py").write_text(LOSES)
    (here / "conf/retriever/loses.yaml").write_text(
        "_target_: loses.Loses\nwindow: null\nhalf_life: null\nseen: drop\n"
    )
    done = command(here, "--config-dir", "conf", *TINY[:3], "tracker=mlflow", "ranker=identity", "retriever=loses")
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert "fitted" in done.stdout
    assert "retrieved" not in done.stdout
    shown = command(here, "runs").stdout
    assert "killed" in shown
    assert "stopped by SIGTERM" in shown

"""What can damage a cache from outside: full disks, corrupt files, pruning and killed processes."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from io import StringIO
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from waiting import PATIENCE, until

import recx
from recx.config.compose import compose, plain
from recx.config.part_classes import locate
from recx.core.progress import shown_on
from recx.core.system.own_folder import is_finished
from recx.experiment import build
from recx.experiment.caching import cached, uncached
from recx.experiment.experiment import Experiment, Result
from recx.parts.shared.design_matrix import design_blocks, design_matrix
from recx.storage import values
from recx.storage.cache.entries import entries, prune, wrong_in
from recx.storage.cache.keys import key_of
from recx.storage.cache.store import Cache
from recx.storage.values import VALUE
from recx.tracking import store

from .conftest import CommandIn

ROOT = Path(__file__).resolve().parents[2]
WORLD = ["+experiment=news", "dataset.readers=60", "dataset.articles=50", "n_candidates=10", "retriever=popularity"]
SMALL = [*WORLD, "feature=basic", "ranker.resamples=0", "tracker=console", "runtime.threads=1"]
"""Few bytes, for small disks."""
SECONDS = ("time/", "data/cache_hits")
FULL = "No space left on device: check the disk and its permissions, or run in another folder\n"


def start(folder: Path) -> subprocess.Popen[str]:
    """Start ``SMALL`` in a folder, in a process of its own."""
    command = [sys.executable, "-m", "recx", *SMALL]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "RECX_DEBUG": "0", "COLUMNS": "120"}
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def figures(run: Path) -> dict[str, Any]:
    """Return a run's figures and files, without seconds and cache hits."""
    metrics = json.loads((run / "metrics.json").read_text())
    saved = {
        path.relative_to(run).as_posix(): path.read_bytes()
        for path in run.rglob("*")
        if path.suffix in (".parquet", ".csv") or path.name == "value.json"
    }
    return {**{name: value for name, value in metrics.items() if not name.startswith(SECONDS)}, **saved}


def runs(folder: Path) -> list[Path]:
    """Return the folders of the runs that ended, in order."""
    return sorted(filter(is_finished, folder.glob("outputs/2*/*")))


def warnings(output: str) -> list[str]:
    return [line for line in output.splitlines() if "the cache" in line]


@contextmanager
def disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a small disk in memory; skip where that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here: that needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def grow(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=200m", str(folder)], check=True)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what ``SMALL`` finds without a cache."""
    folder = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        recx.run([*SMALL, "cache=off"])
    return figures(runs(folder)[0])


# A disk that fills up


@pytest.mark.parametrize("size", ["8k", "200k"])
def test_where_the_caches_disk_is_full_a_run_ends_well(
    size: str, tmp_path: Path, alone: dict[str, Any], command_in: CommandIn
) -> None:
    with disk(tmp_path / "outputs" / "cache", size) as cache:
        done = command_in(tmp_path, *SMALL)
        assert (done.code, done.err) == (0, "")
        [warning] = warnings(done.out)
        assert "(only 0 MB of its disk are free): check the disk, or choose cache=off" in warning
        assert not [path for path in cache.rglob("*") if path.suffix in (".part", ".lock", ".values", ".gone")]
        grow(cache)
        later = command_in(tmp_path, *SMALL)
        assert (later.code, later.err, warnings(later.out)) == (0, "", [])
        assert [figures(run) for run in runs(tmp_path)] == [alone, alone]


@pytest.mark.parametrize("size", ["4k", "300k"])
def test_where_the_whole_disk_is_full_a_run_ends_in_one_sentence(
    size: str, tmp_path: Path, alone: dict[str, Any], command_in: CommandIn
) -> None:
    with disk(tmp_path / "disk", size) as folder:
        done = command_in(folder, *SMALL)
        assert (done.code, done.err) == (1, FULL)
        assert len(warnings(done.out)) <= 1
        assert runs(folder) == []
        grow(folder)
        later = command_in(folder, *SMALL)
        assert (later.code, later.err, warnings(later.out)) == (0, "", [])
        assert [figures(run) for run in runs(folder)] == [alone]


@pytest.mark.slow
@pytest.mark.parametrize("size", ["4k", "500k"])
def test_where_the_whole_disk_is_full_no_half_written_trial_counts(
    size: str, tmp_path: Path, command_in: CommandIn
) -> None:
    overrides = ["-m", *SMALL, "fold=valid", "ranker.l2=0.001,0.01,0.1", "sweep_id=mine"]
    with disk(tmp_path / "disk", size) as folder:
        done = command_in(folder, *overrides)
        # Where the trials fit, the run of the best one on test does not, which the last line says.
        assert done.err == FULL or "once on test: OSError: [Errno 28] No space left on device" in done.out
        assert done.code == 1
        grow(folder)
        later = command_in(folder, *overrides)
        assert (later.code, later.err) == (0, "")
        found = pd.read_csv(folder / "outputs/sweeps/mine/summary/sweep.csv")
        assert later.out.count("(done before)") == done.out.count("end_to_end/ndcg_at_5 = ")
    command_in(tmp_path, *overrides)
    undisturbed = pd.read_csv(tmp_path / "outputs/sweeps/mine/summary/sweep.csv")
    unlike = ["seconds", "cached"]
    pd.testing.assert_frame_equal(found.drop(columns=unlike), undisturbed.drop(columns=unlike))


@pytest.mark.slow
@pytest.mark.parametrize("size", ["64k", "800k", "1100k", "1500k"])
def test_a_full_disk_leaves_no_store_that_mlflow_cannot_open(
    size: str, tmp_path: Path, command_in: CommandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_build", store._build.__wrapped__)  # type: ignore[attr-defined] # by MLflow, no copy
    overrides = [word for word in SMALL if not word.startswith("tracker=")]
    with disk(tmp_path / "disk", size) as folder:
        done = command_in(folder, *overrides)
        assert done.code == 1
        assert len(done.err.splitlines()) == 1
        assert "full" in done.err or "No space left" in done.err
        grow(folder)
        later = command_in(folder, *overrides)
        assert (later.code, later.err) == (0, "")


LIMITED = """
import resource, sys
import numpy as np
from pathlib import Path
from recx.storage.cache.store import Cache
from recx.storage.values import VALUE
from recx.config.part_classes import locate
from recx.core.progress import shown_on
from rich.console import Console
cache = Cache(Path(sys.argv[1]))
numbers = np.arange(500)  # 4,000 bytes, which wait in a buffer until the file is closed
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
with shown_on(Console(file=sys.stdout, width=200)):
    for key in ("a" * 32, "b" * 32):
        np.testing.assert_array_equal(cache.kept("load", lambda: key, lambda: numbers), numbers)
"""


def test_a_file_that_may_not_grow_is_not_kept_in_half(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="this system limits no files")
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "cache")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(warnings(done.stdout)) == 1
    assert entries(tmp_path / "cache") == []


# Corrupt files


@dataclass(frozen=True)
class Chain:
    """A chain on its own data, and its results without a cache."""

    experiment: Experiment
    expected: Result

    def run(self, cache: Cache) -> list[str]:
        """Run it with a cache, check that the results are the same, and return the warnings."""
        output = StringIO()
        with cache.used(), shown_on(Console(file=output, width=300)):
            result = cached(self.experiment, cache).run()
        for part in ("candidates", "recommendations", "report", "interactions"):
            assert key_of_content(getattr(result, part)) == key_of_content(getattr(self.expected, part)), part
        assert result.tables.keys() == self.expected.tables.keys()
        unlike = [name for name, value in self.expected.metrics.items() if str(result.metrics[name]) != str(value)]
        assert [name for name in unlike if not name.startswith("time/")] == []
        return warnings(output.getvalue())


def key_of_content(value: Any) -> str:
    """Return a hash of a value's content, independent of the keys of the stages."""
    return key_of(_as_mappings(value))


def _as_mappings(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _as_mappings(getattr(value, field.name)) for field in fields(value)}
    return {name: _as_mappings(inner) for name, inner in value.items()} if isinstance(value, Mapping) else value


@pytest.fixture(scope="module")
def chain() -> Chain:
    config = plain(compose(["+experiment=news", "dataset.readers=80", "dataset.articles=60", "n_candidates=10"]))
    config["ranker"] = {**config["ranker"], "resamples": 20, "probabilities": "platt"}
    experiment = build.experiment(config)
    return Chain(experiment, experiment.run())


@pytest.fixture(scope="module")
def sound(chain: Chain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache with every result of the chain."""
    cache = Cache(tmp_path_factory.mktemp("sound"))
    assert chain.run(cache) == []
    return cache.folder


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"0")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = [flip, shorten, lengthen, empty, Path.unlink, make_folder]
ABOVE = {"examples": ["fit_ranker"], "features": ["fit_ranker", "examples", "rank"]}
"""Stage -> those whose entries must be removed, so that it is requested."""
STAGES = ["load", "fit_retriever", "retrieve", "examples", "fit_ranker", "features", "rank", "evaluate"]


def copied(sound: Path, folder: Path, without: Sequence[str] = ()) -> Cache:
    shutil.copytree(sound, folder, copy_function=os.link)  # a damage must not write through: see ``of_its_own``
    cache = Cache(folder)
    for entry in entries(folder):
        if entry.stage in without:
            shutil.rmtree(entry.place)
    return cache


def of_its_own(path: Path) -> Path:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("stage", STAGES)
def test_a_corrupt_file_is_noticed_and_computed_again(stage: str, chain: Chain, sound: Path, tmp_path: Path) -> None:
    """One file of each kind, each damaged in another way, and in the next stage in the way after that."""
    entry = next(entry for entry in entries(sound) if entry.stage == stage)
    names = [path.relative_to(sound) for path in sorted(entry.place.rglob("*")) if path.is_file()]
    names = list({"".join(name.suffixes) + str(len(name.parts)): name for name in names}.values())
    described = entry.place.relative_to(sound) / "entry.json"
    for name, damage in zip(names, islice(cycle(DAMAGES), STAGES.index(stage), None), strict=False):
        cache = copied(sound, tmp_path / "cache", ABOVE.get(stage, []))
        damage(of_its_own(cache.folder / name))
        output = chain.run(cache)
        if name != described or damage is not flip:  # a bit of a description does no harm
            assert len(output) == 1, (damage, name)
            assert f"the cache's entry {entry.place.name} ({stage}) is damaged (" in output[0]
        assert len(output) <= 1
        assert chain.run(cache) == []
        shutil.rmtree(cache.folder)


FORGED = ["[]", "{}", "0", '{"files": []}', '{"files": {"0.npy": 7}}', "[" * 9999, "\0"]


def test_an_entry_with_a_forged_description_is_computed_again(chain: Chain, sound: Path, tmp_path: Path) -> None:
    cache = copied(sound, tmp_path / "cache")
    for entry, content in zip(entries(cache.folder), cycle(FORGED), strict=False):
        of_its_own(entry.place / "entry.json").write_text(content)
    assert all("is damaged (" in line for line in chain.run(cache))
    assert chain.run(cache) == []


def test_unexpected_files_do_not_crash_a_run(chain: Chain, sound: Path, tmp_path: Path) -> None:
    """Files in place of folders and vice versa, for entries and the files next to them."""
    cache = copied(sound, tmp_path / "cache")
    for entry in entries(cache.folder):
        shutil.rmtree(entry.place)
        for ending in (".part", ".gone", ".values"):
            entry.place.with_suffix(ending).mkdir()
            (entry.place.with_suffix(ending) / "file").touch()
        entry.place.touch()
    assert len(chain.run(cache)) > 1
    assert chain.run(cache) == []
    prune(cache.folder, None, None)
    assert {path.suffix for path in cache.folder.glob("??/*")} == {""}


@pytest.mark.parametrize("where", ["", "lock", "two"])
def test_a_cache_that_cannot_be_written_is_reported_once(where: str, chain: Chain, sound: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for entry in entries(sound):
        place = cache.place(entry.place.name)
        if where == "lock":
            place.with_suffix(".lock").mkdir(parents=True)
        elif where == "two":
            place.parent.parent.mkdir(exist_ok=True)
            place.parent.touch()
    if not where:
        cache.folder.touch()
    [output] = chain.run(cache)
    assert "the cache keeps no load (" in output
    assert entries(cache.folder) == []


def test_without_the_right_to_read_it_is_computed_again(chain: Chain, sound: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root can read everything")
    cache = copied(sound, tmp_path / "cache")
    for entry in entries(cache.folder):
        of_its_own(entry.place / "value.json" if entry.stage != "features" else entry.place / "values.npy").chmod(0)
    assert chain.run(cache)
    assert chain.run(cache) == []


def test_a_reader_saves_nothing_of_a_damaged_entry(chain: Chain, sound: Path, tmp_path: Path) -> None:
    cache = copied(sound, tmp_path / "cache")
    [entry] = [entry for entry in entries(cache.folder) if entry.stage == "fit_ranker"]
    flip(of_its_own(entry.place / "fitted" / "value.json"))
    reader = Cache(cache.folder, writes=False)
    for name in ("saved", "expected"):
        (tmp_path / name).mkdir()
    with reader.used():
        values.write(uncached(cached(chain.experiment, reader).run().ranker), tmp_path / "saved", locate)
    values.write(chain.expected.ranker, tmp_path / "expected", locate)
    assert (tmp_path / "saved" / VALUE).read_bytes() == (tmp_path / "expected" / VALUE).read_bytes()


# Pruning and concurrent runs


@pytest.mark.parametrize("hold", ["find", "read", "open"])
def test_an_entry_that_is_pruned_between_finding_and_reading_it_is_computed_again(
    hold: str, chain: Chain, sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = ABOVE["features"] if hold == "open" else []
    cache = copied(sound, tmp_path / "cache", without)

    def pruned_first(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if not named and "w" not in str(arguments[1:]):
                prune(cache.folder, 0, None)
            return real(*arguments, **named)

        return call

    if hold == "find":
        monkeypatch.setattr("recx.storage.cache.store.wrong_in", pruned_first(wrong_in))
    elif hold == "read":
        monkeypatch.setattr("recx.storage.values.read", pruned_first(values.read))
    else:
        monkeypatch.setattr(Cache, "find", lambda self, stage, key: self.place(key))  # found, and gone
    assert chain.run(cache) == []


def test_pruning_under_a_run_costs_time_alone(chain: Chain, tmp_path: Path) -> None:
    cache, done = Cache(tmp_path / "cache"), threading.Event()

    def sweep_up() -> None:
        while not done.is_set():
            prune(cache.folder, 0, None)

    thread = threading.Thread(target=sweep_up)
    thread.start()
    try:
        output = [chain.run(cache) for _ in range(2)]
    finally:
        done.set()
        thread.join()
    assert output == [[], []]
    chain.run(cache)
    assert chain.run(cache) == []
    assert {path.suffix for path in cache.folder.glob("??/*")} == {""}


def test_a_cache_that_is_thrown_away_under_a_run_costs_time_alone(chain: Chain, tmp_path: Path) -> None:
    cache, done = Cache(tmp_path / "cache"), threading.Event()

    def throw_away() -> None:
        while not done.is_set():
            shutil.rmtree(cache.folder, ignore_errors=True)

    thread = threading.Thread(target=throw_away)
    thread.start()
    try:
        for _ in range(2):
            assert len(chain.run(cache)) <= 1
    finally:
        done.set()
        thread.join()
    assert chain.run(cache) == []


def test_an_interrupted_pass_blocks_nothing_in_its_own_process(chain: Chain, tmp_path: Path) -> None:
    """A stored exception, as in a notebook, keeps the pass and its locks alive."""
    fold, candidates = chain.expected.split.fold, chain.expected.candidates
    features = chain.experiment.ranker.features  # type: ignore[union-attr]
    with Cache(tmp_path / "cache").used():
        broken_off = design_blocks(features, candidates, fold.history, fold.requests)
        next(broken_off)
        whole = design_matrix(features, candidates, fold.history, fold.requests)
        rest = [block for _, block in broken_off]
        again = design_matrix(features, candidates, fold.history, fold.requests)
    assert rest == []
    np.testing.assert_array_equal(whole, again)


@pytest.mark.slow
def test_two_runs_at_once_on_an_empty_cache_compute_everything_once(tmp_path: Path, alone: dict[str, Any]) -> None:
    under_way = [start(tmp_path) for _ in range(2)]
    for process in under_way:
        assert process.communicate(timeout=PATIENCE)[1] == ""
        assert process.returncode == 0
    assert [figures(run) for run in runs(tmp_path)] == [alone, alone]
    assert not [path for path in (tmp_path / "outputs/cache").glob("??/*") if path.suffix]


@pytest.mark.slow
def test_a_run_killed_while_writing_leaves_nothing_that_is_read(
    tmp_path: Path, alone: dict[str, Any], command_in: CommandIn
) -> None:
    moments = random.Random(0)
    for _ in range(3):
        process = start(tmp_path)
        cache = tmp_path / "outputs" / "cache"
        until(lambda: cache.exists() or process.poll() is not None)  # noqa: B023
        time.sleep(moments.uniform(0, 0.4))
        process.kill()
        process.communicate()
    done = command_in(tmp_path, *SMALL)
    assert (done.code, done.err, warnings(done.out)) == (0, "", [])
    assert figures(runs(tmp_path)[-1]) == alone
    prune(tmp_path / "outputs" / "cache", None, None)
    assert not [path for path in (tmp_path / "outputs/cache").glob("??/*") if path.suffix]

"""Checkpoints are found by their settings and data, survive a kill, and damaged ones are refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from waiting import until

from recx.core.errors import InputError
from recx.parts.shared.checkpoints import DONE, RUNNING, Keeper, Saved, fingerprint
from recx.testing import tiny_world

SAVED = Saved({"epoch": 2, "curves": {"a/loss": [0.5, 0.25]}}, {"w": np.arange(6, dtype=np.float32).reshape(2, 3)})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "new", {"seed": 1}, 1.0)
    assert keeper.resumed() is None
    keeper.save(SAVED)
    found = keeper.resumed()
    assert found is not None
    assert found.course == SAVED.course
    assert found.arrays["w"].dtype == np.float32
    assert np.array_equal(found.arrays["w"], SAVED.arrays["w"])
    keeper.finish(Saved({"epoch": 3}, {}))
    assert [file.name.endswith(DONE) for file in (tmp_path / "new").iterdir()] == [True]
    again = keeper.resumed()
    assert again is not None
    assert again.course == {"epoch": 3}


def test_without_a_folder_nothing_is_written() -> None:
    keeper = Keeper(None, {}, 1e-9)
    assert not keeper.due()
    keeper.save(SAVED)
    keeper.finish(SAVED)
    keeper.forget()
    assert keeper.resumed() is None


def test_one_is_due_after_the_minutes(tmp_path: Path) -> None:
    assert not Keeper(tmp_path, {}, 1.0).due()
    keeper = Keeper(tmp_path, {}, 1.0)
    keeper._last -= 61
    assert keeper.due()
    keeper.save(SAVED)
    assert not keeper.due()


def test_another_training_is_refused_with_the_difference(tmp_path: Path) -> None:
    Keeper(tmp_path, {"factors": 32, "seed": 0}, 1.0).save(SAVED)
    with pytest.raises(InputError, match=r"another training \(factors 32 there, 16 here; alpha None there, 2 here\)"):
        Keeper(tmp_path, {"factors": 16, "seed": 0, "alpha": 2}, 1.0).resumed()


def test_only_the_newest_outcomes_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recx.parts.shared.checkpoints.KEPT", 2)
    for number in range(4):
        Keeper(tmp_path, {"number": number}, 1.0).finish(Saved({}, {}))
        [file] = [file for file in tmp_path.iterdir() if file.stat().st_mtime > 1000]
        os.utime(file, (number, number))
    assert len(list(tmp_path.iterdir())) == 2
    assert Keeper(tmp_path, {"number": 3}, 1.0).resumed() is not None
    assert Keeper(tmp_path, {"number": 0}, 1.0).resumed() is None


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "objects", "other header"])
def test_a_damaged_checkpoint_is_one_sentence(damage: str, tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, {"seed": 1}, 1.0)
    keeper.save(SAVED)
    [file] = tmp_path.glob(f"*{RUNNING}")
    if damage == "objects":
        np.savez(file, recx=np.array([{"of": {}}], dtype=object))
    elif damage == "other header":
        np.savez(file, recx=np.frombuffer(b"[1]", np.uint8))
    else:
        file.write_bytes({"cut": file.read_bytes()[:50], "empty": b"", "text": b"weights"}[damage])
    with pytest.raises(InputError, match="cannot be read as a checkpoint"):
        keeper.resumed()


def test_a_link_is_not_read(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, {"seed": 1}, 1.0)
    keeper.save(SAVED)
    [file] = tmp_path.iterdir()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link"):
        keeper.resumed()


def test_a_history_is_told_by_whatever_a_fit_reads() -> None:
    world = tiny_world()
    found = fingerprint(world)
    assert found == fingerprint(tiny_world())
    assert (found["data.users"], found["data.items"]) == (world.n_users, world.n_items)
    assert world.time is not None
    other = (
        replace(world, weight=world.weight * 2),
        replace(world, time=world.time + 1),
        replace(world, item=world.item[::-1].copy()),
        world.keep(np.arange(len(world)) > 0),
    )
    assert found["data"] not in [fingerprint(one)["data"] for one in other]


WRITER = """
import sys
import numpy as np
from pathlib import Path
from recx.parts.shared.checkpoints import Keeper, Saved
keeper, number = Keeper(Path(sys.argv[1]), {"a": 1}, 1.0), 0
while True:
    number += 1
    keeper.save(Saved({"epoch": number}, {"x": np.full(2_000_000, number, dtype=np.float32)}))
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_checkpoint_leaves_the_one_before(tmp_path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    written = 0
    while written < 2:
        written = int(writer.stdout.readline())
    until(lambda: list(tmp_path.glob(".*.part")))  # it is in the middle of one
    writer.send_signal(signal.SIGKILL)
    rest = writer.communicate()[0].split()
    written = max([written, *map(int, rest)])
    saved = Keeper(tmp_path, {"a": 1}, 1.0).resumed()
    assert saved is not None
    assert saved.course["epoch"] in (written, written + 1)  # renamed, perhaps, but not yet reported
    assert (saved.arrays["x"] == saved.course["epoch"]).all()

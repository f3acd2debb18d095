"""Kernels: where compiled code is kept, when it is compiled anew, and what a kernel may write into."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from recx.core import compiled as module
from recx.core.compiled import Kernel, compiled
from recx.core.progress import shown_on

KERNELS = """
from recx.core.compiled import compiled
from {helper} import plus

@compiled("total")
def add(values, total):
    for at in range(len(values)):
        total[0] = plus(total[0], values[at])
"""
HELPER = """
from recx.core.compiled import compiled

@compiled()
def plus(a, b):
    return a {sign} b
"""
CALL = """
import numpy as np
from kernels_here import add
total = np.zeros(1)
add(np.arange(4.0), total)
stats = add.dispatcher.stats
print(total[0], sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@compiled("total")
def add_up(values: np.ndarray, total: np.ndarray) -> int:
    for at in range(len(values)):
        total[0] += values[at]
    return len(values)


@compiled()
def forbidden(values: np.ndarray) -> None:
    values[0] = 1.0


@compiled()
def larger(one: float, other: float) -> float:
    return one if one > other else other


@compiled()
def largest(values: np.ndarray) -> float:
    found = larger(0, 1)
    for value in values:
        found = larger(found, 2)
        found = larger(found, value)
    return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for compiled code of a user who has compiled nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    forget()
    yield tmp_path / "recx" / "compiled"
    forget()


def forget() -> None:
    module._private_home.cache_clear()
    module._announce.cache_clear()


@pytest.fixture
def called(tmp_path: Path, home: Path) -> Callable[[str], list[str]]:
    """Return a function that calls a kernel in a new process: the sum of 0 to 3, cache hits and compilations."""

    def call(sign: str = "+") -> list[str]:
        (tmp_path / "helper_here.py").write_text(HELPER.format(sign=sign))
        (tmp_path / "kernels_here.py").write_text(KERNELS.format(helper="helper_here"))
        path = os.pathsep.join([str(tmp_path), str(Path(module.__file__).parents[2])])
        # Python takes a source of the same second and size for the one that it has compiled.
        env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", CALL], env=env, capture_output=True, text=True, check=True)
        return done.stdout.split()

    return call


def test_a_later_process_loads_what_an_earlier_one_compiled_unless_the_code_has_changed(
    called: Callable[..., list[str]], home: Path
) -> None:
    """That of a kernel which it calls, in another file, too."""
    assert called() == ["6.0", "0", "1"]
    assert called() == ["6.0", "1", "0"]
    assert called("-") == ["-6.0", "0", "1"]
    assert home.stat().st_mode & 0o777 == 0o700


def others_can_use(home: Path, mode: int) -> None:
    home.mkdir(parents=True)
    home.chmod(mode)


def behind_a_link(home: Path) -> None:
    home.parent.mkdir(parents=True)
    (home.parent / "elsewhere").mkdir(mode=0o700)
    home.symlink_to(home.parent / "elsewhere")


@pytest.mark.parametrize(
    "lay_out",
    [
        *(partial(others_can_use, mode=mode) for mode in (0o770, 0o707, 0o777)),
        behind_a_link,
        lambda home: home.parent.write_text("a file"),
    ],
    ids=["group", "others", "all", "link", "file"],
)
def test_nothing_is_kept_where_others_could_have_written_or_nobody_can(
    home: Path, lay_out: Callable[[Path], object]
) -> None:
    lay_out(home)
    kernel = Kernel(larger.function, ())
    assert kernel(1.0, 2.0) == 2
    assert kernel.dispatcher.stats.cache_path is None
    assert not home.is_dir() or not any(home.iterdir())


def test_what_was_not_used_for_a_month_is_removed(home: Path) -> None:
    old, new = home / "old", home / "new"
    for folder, days in ((old, 31), (new, 29)):
        folder.mkdir(parents=True)
        (folder / "code").write_text("x")
        os.utime(folder, (time.time() - days * 86_400,) * 2)
    home.chmod(0o700)
    assert module._private_home() == home
    assert [folder.name for folder in home.iterdir()] == ["new"]


def test_compiling_is_said_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with shown_on(Console(width=100)):
        for kernel in (Kernel(add_up.function, ("total",)), Kernel(forbidden.function, ())):
            assert kernel.dispatcher
    assert capsys.readouterr().out == "compiling for this machine, once (about 10 s)\n"


def test_a_kernel_releases_python_s_lock_and_starts_no_threads() -> None:
    options = add_up.dispatcher.targetoptions
    assert options["nogil"]
    assert not options.get("parallel")


@pytest.mark.parametrize(
    "values",
    [np.arange(6.0), np.arange(12.0)[::2], np.arange(6.0)[::-1], np.broadcast_to(np.float64(2.5), 6)],
    ids=["whole", "every other", "backwards", "one number"],
)
def test_one_compilation_serves_every_layout(values: np.ndarray) -> None:
    total = np.zeros(1)
    assert add_up(values, total) == 6
    assert total[0] == values.sum()
    assert len(add_up.dispatcher.signatures) == 1


def test_one_compilation_serves_every_constant(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "larger", Kernel(larger.function, ()))
    assert Kernel(largest.function, ())(np.array([3, 7, 5])) == 7
    assert len(larger.dispatcher.signatures) == 1


def test_one_compilation_serves_mapped_files(tmp_path: Path) -> None:
    np.save(tmp_path / "values.npy", np.arange(6.0))
    total = np.zeros(1)
    add_up(np.load(tmp_path / "values.npy", mmap_mode="r"), total)
    assert total[0] == 15
    assert len(add_up.dispatcher.signatures) == 1


def test_a_kernel_writes_only_into_what_it_names() -> None:
    with pytest.raises(Exception, match=r"(?i)readonly"):
        forbidden(np.zeros(3))


def test_numba_s_own_setting_is_left_as_it_was(home: Path) -> None:
    import numba

    before = numba.config.CACHE_DIR
    assert Kernel(add_up.function, ("total",)).dispatcher
    assert before == numba.config.CACHE_DIR

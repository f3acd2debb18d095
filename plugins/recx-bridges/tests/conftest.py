"""A stand-in for the environment of a library: this Python, with a module that has its names."""

from __future__ import annotations

import json
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

IMPLICIT = {
    "implicit/__init__.py": "from . import als, bpr, cpu, lmf, nearest_neighbours\n",
    "implicit/cpu/__init__.py": "from . import als, bpr, lmf\n",
    "implicit/cpu/als.py": '''
import numpy as np


class AlternatingLeastSquares:
    """One factor: of an item its clicks to a power, of a user 1."""

    def __init__(self, power=1.0, random_state=None, num_threads=0):
        self.power = power
        print("seed", random_state)

    def fit(self, clicks, show_progress=True):
        self.user_factors = np.ones((clicks.shape[0], 1), np.float32)
        self.item_factors = (np.asarray(clicks.sum(axis=0)).reshape(-1, 1) ** self.power).astype(np.float32)

    def save(self, file):
        np.savez(file, user_factors=self.user_factors, item_factors=self.item_factors)

    @classmethod
    def load(cls, file):
        model = cls()
        vars(model).update(np.load(file))
        return model
''',
    **{f"implicit/{name}.py": "" for name in ("als", "bpr", "lmf", "nearest_neighbours", "cpu/bpr", "cpu/lmf")},
}


@pytest.fixture
def implicit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """Return a function that makes an environment with a module called like implicit, and returns its Python."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def make() -> Path:
        folder = tmp_path / "data" / "recx" / "bridges" / "implicit"
        site = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        for name, text in IMPLICIT.items():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text(text)
        (site / "implicit-0.7.3.dist-info").mkdir()
        (site / "here.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n")  # NumPy, SciPy and PyArrow
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(sys.executable)
        (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
        (folder / "recx-bridge.json").write_text(json.dumps({"requires": ["implicit==0.7.3"]}))
        return folder / "bin" / "python"

    return make

"""The Dockerfile, which the tests cannot build, copies what the package is made of, and runs as a plain user."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
COPIED = [source for line in LINES if re.match(r"COPY (?!--)", line) for source in line.split()[1:-1]]


def setuptools() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "setuptools"
    ]
    return found


def test_it_copies_every_folder_of_the_package_and_nothing_that_is_not_there() -> None:
    assert all((ROOT / source).exists() for source in COPIED)
    assert set(setuptools()["package-dir"].values()) <= set(COPIED)
    assert {"pyproject.toml", "constraints.txt", "LICENSE"} <= set(COPIED)  # recx/constraints.txt is a link to the one


def test_what_it_copies_is_sent_to_the_builder_and_no_more() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == set(COPIED)
    left_out = [line for line in lines[1:] if not line.startswith("!")]
    for hidden in ("docs/site/.doctrees", "recx/core/__pycache__"):
        assert any(fnmatch(hidden, pattern) for pattern in left_out)


def test_it_installs_the_tested_versions_and_runs_as_a_plain_user_on_a_python_that_recx_supports() -> None:
    [install] = [line for line in LINES if "pip install" in line]
    assert "-c constraints.txt" in install
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bases = {line.split()[1] for line in LINES if line.startswith("FROM")}
    [version] = {re.findall(r"^python:(3\.\d+)-slim$", base)[0] for base in bases}
    assert f"Programming Language :: Python :: {version}" in about["classifiers"]
    last = LINES[max(n for n, line in enumerate(LINES) if line.startswith("FROM")) :]
    assert "USER recx" in last
    assert 'ENTRYPOINT ["python", "-m", "recx"]' in last

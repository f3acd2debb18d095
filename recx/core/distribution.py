"""Finds another installed distribution that owns the import package ``recx``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from recx.core.errors import InputError

NAME = "recx-lab"
"""The distribution that recx belongs to."""


def check_distribution() -> None:
    """Check that no other installed distribution owns the package ``recx``.

    Raises:
        InputError: One does, so files of ours may have been replaced, or another package be imported next time.
    """
    for info in _installed():
        name, _, version = info.name.removesuffix(".dist-info").partition("-")
        name = re.sub("[-_.]+", "-", name).lower()
        if name != NAME and _owns(name, info):
            raise InputError(
                f"the distribution {name} {version} in {info.parent} has the package recx too: its files and those of "
                f"{NAME} share one folder or one name, so it is unknown which code runs: pip uninstall {name} {NAME}, "
                f"then install {NAME} again from its folder or wheel"
            )


def _installed() -> Iterator[Path]:
    """Yield the folders with the metadata of what pip installed, which names and RECORD files can be read from.

    ``importlib.metadata`` would parse every METADATA file for its name, and count what a build left in a checkout.
    """
    for place in dict.fromkeys(sys.path):
        try:
            with os.scandir(place or ".") as entries:
                found = sorted(entry.path for entry in entries if entry.name.endswith(".dist-info"))
        except OSError:
            continue  # a zip file, or gone
        yield from map(Path, found)


def _owns(name: str, info: Path) -> bool:
    try:
        return "recx" in _text(info / "top_level.txt").split()
    except OSError:  # not every build writes it
        return name == "recx" or (name.startswith("recx") and _has_files(info))


def _has_files(info: Path) -> bool:
    try:
        return re.search("^recx/", _text(info / "RECORD"), flags=re.MULTILINE) is not None
    except OSError:
        return False


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")

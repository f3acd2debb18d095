"""``python -m recx cache [--keep 20GB] [--older 30d]``: what the stage cache holds, and making it smaller."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from recx.cli.commands.parser import Parser
from recx.core.errors import InputError
from recx.core.system.durations import milliseconds
from recx.storage.cache.store import CACHE

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def run(arguments: Sequence[str]) -> int:
    """Print a line a stage: its entries, their bytes, when the oldest and the newest were last used.

    --keep: take the entries that were not used for longest away until the others fit. --older: take those away that
    were not used for so long.

    Raises:
        InputError: a size or a duration cannot be read, or there is no such folder.
    """
    parser = Parser(prog="recx cache")
    parser.add_argument("--keep", metavar="SIZE", help="such as 20GB")
    parser.add_argument("--older", metavar="DURATION", help="such as 30d")
    parser.add_argument("--folder", type=Path, default=Path(CACHE), help=f"default: {CACHE}")
    chosen = parser.parse_args(arguments)
    keep = None if chosen.keep is None else _bytes(chosen.keep)
    older = None if chosen.older is None else milliseconds(chosen.older, "--older") / 1000
    if not chosen.folder.is_dir() and chosen.folder != Path(CACHE):
        raise InputError(f"--folder={chosen.folder}: there is no such folder: name one that holds a stage cache")
    from recx.storage.cache.entries import entries, prune

    if keep is not None or older is not None:
        gone = prune(chosen.folder, keep, older)
        print(f"{len(gone)} entries taken away, {_size(sum(entry.bytes for entry in gone))}")
    found = entries(chosen.folder)
    if not found:
        print(f"{chosen.folder} holds nothing")
        return 0
    print(f"{'stage':<16}{'entries':>8}{'size':>12}  {'oldest use':<18}newest use")
    for stage in dict.fromkeys(sorted(entry.stage for entry in found)):
        of_stage = [entry for entry in found if entry.stage == stage]
        used = [entry.used for entry in of_stage]
        size = _size(sum(entry.bytes for entry in of_stage))
        print(f"{stage:<16}{len(of_stage):>8}{size:>12}  {_moment(min(used)):<18}{_moment(max(used))}")
    print(f"{'total':<16}{len(found):>8}{_size(sum(entry.bytes for entry in found)):>12}")
    return 0


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?B)", text.strip().upper())
    if not found:
        raise InputError(f"--keep={text!r} is no size: write a number and a unit, such as 500MB or 20GB")
    return round(float(found[1]) * UNITS[found[2]])


def _size(n: int) -> str:
    unit = max((unit for unit in UNITS if n >= UNITS[unit]), key=UNITS.__getitem__, default="B")
    return f"{n / UNITS[unit]:,.1f} {unit}" if unit != "B" else f"{n} B"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")

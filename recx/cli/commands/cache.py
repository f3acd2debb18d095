"""``python -m recx cache [--keep 20GB] [--older 30d]``: show the size of the stage cache, and prune it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from recx.cli.commands.parser import Parser
from recx.core.errors import InputError
from recx.core.exit_codes import DONE
from recx.core.system.durations import milliseconds
from recx.core.system.screen import echo
from recx.core.system.sizes import n_bytes, readable
from recx.storage.cache.settings import StageCache
from recx.storage.cache.store import CACHE


def run(arguments: Sequence[str]) -> int:
    """Print one line per stage: its entries, their size, and when the oldest and newest were last used; the limit.

    ``--keep`` removes the least recently used entries until the others fit, ``--older`` those that were not used for
    so long.

    Raises:
        InputError: A size or a duration cannot be read, or the folder does not exist.
    """
    chosen = parser().parse_args(arguments)
    keep = None if chosen.keep is None else n_bytes(chosen.keep, "--keep")
    older = None if chosen.older is None else milliseconds(chosen.older, "--older") / 1000
    if not chosen.folder.is_dir() and chosen.folder != Path(CACHE):
        raise InputError(f"--folder={chosen.folder}: the folder does not exist: give one that holds a stage cache")
    from recx.storage.cache.entries import Entry, entries, prune

    if keep is not None or older is not None:
        removed = prune(chosen.folder, keep, older)
        echo(f"{len(removed)} entries removed, {readable(sum(entry.bytes for entry in removed))}")
    by_stage: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries(chosen.folder):
        by_stage[entry.stage].append(entry)
    if not by_stage:
        echo(f"{chosen.folder} is empty")
        return DONE
    echo(f"{'stage':<16}{'entries':>8}{'size':>12}  {'oldest use':<18}newest use")
    sizes = {stage: sum(entry.bytes for entry in found) for stage, found in by_stage.items()}
    for stage, found in sorted(by_stage.items()):
        oldest, newest = (_moment(choose(entry.used for entry in found)) for choose in (min, max))
        echo(f"{stage:<16}{len(found):>8}{readable(sizes[stage]):>12}  {oldest:<18}{newest}")
    echo(f"{'total':<16}{sum(map(len, by_stage.values())):>8}{readable(sum(sizes.values())):>12}")
    limit = readable(n_bytes(str(StageCache.limit), "cache.limit"))
    echo(f"{'limit':<24}{limit:>12}  by default (cache.limit): a run removes the least recently used beyond its own")
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx cache", description="Show the size of the stage cache, and prune it.")
    parser.add_argument("--keep", metavar="SIZE", help="remove the least recently used beyond this size, such as 20GB")
    parser.add_argument("--older", metavar="DURATION", help="remove what was not used for so long, such as 30d")
    parser.add_argument("--folder", type=Path, default=Path(CACHE), help="the folder of the stage cache (%(default)s)")
    return parser


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")

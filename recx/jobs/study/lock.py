"""The lock file of a study, by which another person runs the very same: versions, hashes, overrides of every cell."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from recx.config import option_sources
from recx.core.bounds import Seed, coerce
from recx.core.errors import InputError
from recx.core.system.atomic import write_text
from recx.jobs.study import strangers
from recx.jobs.study.cells import Cell, Key, Pair
from recx.jobs.study.plan import Choice, Local, Plan, Selection
from recx.jobs.study.spec import check_name, content_of

FILE = "study.lock.yaml"
HEAD = """\
# What this study has run. `python -m recx study PATH/study.lock.yaml` runs the very same (data=DIR: what {data} is).
"""
LIBRARIES = ("recx-lab", "numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "faiss-cpu", "numba", "llvmlite")
"""Distributions whose versions figures may depend on, beside plugins and what these require."""


def write(plan: Plan, chosen: Mapping[Pair, Choice], data: Mapping[Key, str], folder: Path) -> None:
    """Write the lock file of a study into its folder.

    Args:
        plan: The study.
        chosen: Chain and world -> what tuning has chosen there so far.
        data: Chain, world and seed -> the hash of the data of the cells that have run so far.
        folder: The folder.
    """
    content = {
        "study": plan.name,
        "metrics": list(plan.metrics),
        "baseline": plan.baseline,
        "average": plan.average,
        "tunings": [
            {"chain": one.chain, "world": one.world, "tune": list(one.tune), "trials": one.trials, "seed": one.seed}
            for one in plan.tunings
        ],
        "tuned": [
            {"chain": chain, "world": world, "overrides": list(one.overrides), "value": one.value, "reason": one.reason}
            for (chain, world), one in sorted(chosen.items())
        ],
        "versions": versions(),
        "code": code_hash(),
        "options": option_sources.content_hash(),
        "cells": [
            {
                **{"chain": cell.chain, "world": cell.world, "seed": cell.seed, "overrides": list(cell.overrides)},
                "data": data.get(cell.key),
            }
            for cell in plan.cells
        ],
    }
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1_000)
    write_text(folder / FILE, HEAD + text)


def is_lock(content: Mapping[str, Any]) -> bool:
    """Return whether the content of a YAML file is that of a lock file."""
    return "cells" in content and "study" in content


def plan_of(content: Mapping[str, Any], file: Path, local: Local, selection: Selection, words: Sequence[str]) -> Plan:
    """Return the study of a lock file.

    Args:
        content: What the file says.
        file: The file, for errors.
        local: What belongs to this machine.
        selection: Which of its cells are to run.
        words: The words of the command line, which permit what they repeat.

    Raises:
        InputError: The file is damaged, says what a stranger may not say, or is of a study that was not finished.
    """
    try:
        plan = _plan(content, file)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{file} is damaged ({type(error).__name__}: {error}): get the file again") from None
    for cell in plan.cells:
        where = f"{file}: chain {cell.chain} in world {cell.world}"
        chosen = plan.chosen.get(cell.pair, Choice())
        strangers.check_overrides([*cell.overrides, *chosen.overrides], where, [*words, *local.overrides])
    for one in content["tunings"]:  # those of a study that was itself run from a lock file are done
        if (one["chain"], one["world"]) not in plan.chosen:
            raise InputError(
                f"{file}: the tuning of chain {one['chain']} in world {one['world']} was not finished: let whoever has "
                "its folder resume the study, or run the study itself"
            )
    if not plan.cells:
        raise InputError(f"{file}: it has no cells: get the file again")
    cells = selection.of_cells(plan.cells)
    baseline = plan.baseline if any(cell.chain == plan.baseline for cell in cells) else None
    return replace(plan, cells=cells, baseline=baseline, config=local.composed(cells[0].overrides))


def _plan(content: Mapping[str, Any], file: Path) -> Plan:
    check_name(content["study"], f"{file}: study")
    cells, expected, chosen = [], dict[Key, str](), dict[Pair, Choice]()
    for number, one in enumerate(content["cells"]):
        for kind in ("chain", "world"):
            check_name(one[kind], f"{file}: cells.{number}.{kind}")
        seed = coerce(one["seed"], Seed, f"{file}: cells.{number}.seed")
        overrides = coerce(one["overrides"], tuple[str, ...], f"{file}: cells.{number}.overrides")
        cells.append(Cell(one["chain"], one["world"], seed, overrides))
        if one["data"] is not None:
            expected[one["chain"], one["world"], seed] = str(one["data"])
    for number, one in enumerate(content["tuned"]):
        overrides = coerce(one["overrides"], tuple[str, ...], f"{file}: tuned.{number}.overrides")
        value = coerce(one["value"], float | None, f"{file}: tuned.{number}.value")
        chosen[str(one["chain"]), str(one["world"])] = Choice(overrides, value, str(one["reason"]))
    return Plan(
        name=content["study"],
        file=file,
        metrics=coerce(content["metrics"], tuple[str, ...], f"{file}: metrics"),
        baseline=coerce(content["baseline"], str | None, f"{file}: baseline"),
        average=coerce(content["average"], bool, f"{file}: average"),
        cells=cells,
        tunings=[],
        config={},
        chosen=chosen,
        expected=expected,
    )


def check_same(plan: Plan, folder: Path) -> Mapping[str, Any]:
    """Return the lock file of an earlier start of a study, if what it has run is what the study says now.

    Cells may come and go; those that stay must be the same.

    Raises:
        InputError: One of them is another now; the message names it.
    """
    file = folder / FILE
    content = content_of(file)
    try:
        cells = {(one["chain"], one["world"], one["seed"]): tuple(one["overrides"]) for one in content["cells"]}
        tuned = {(one["chain"], one["world"]): one for one in content["tunings"]}
    except (KeyError, TypeError) as error:
        raise InputError(f"{file} is damaged ({type(error).__name__}: {error}): start anew with name=OTHER") from None
    for cell in plan.cells:
        before = cells.get(cell.key, cell.overrides)
        if before != cell.overrides:
            then, now = _only(before, cell.overrides), _only(cell.overrides, before)
            raise InputError(
                f"{plan.file}: chain {cell.chain} in world {cell.world} was started with {then} and has {now} now: put "
                "that back, or start anew with name=OTHER"
            )
    for one in plan.tunings:
        earlier = tuned.get(one.pair)
        here = {"tune": list(one.tune), "trials": one.trials, "seed": one.seed}
        for key, value in here.items():
            if earlier is not None and earlier.get(key) != value:
                raise InputError(
                    f"{plan.file}: the tuning of chain {one.chain} in world {one.world} was started with {key} "
                    f"{earlier.get(key)} and has {value} now: put that back, or start anew with name=OTHER"
                )
    return content


def _only(these: Sequence[str], others: Sequence[str]) -> str:
    return " ".join(one for one in these if one not in others) or "nothing of that"


def differences(content: Mapping[str, Any]) -> list[str]:
    """Return a sentence on each thing that is another here than where a lock file was written."""
    here, there = versions(), dict(content.get("versions") or {})
    apart = [
        f"{name} {here.get(name, 'not installed')} (there {there.get(name, 'not installed')})"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]
    sentences = [f"other versions than in the lock file: {', '.join(apart)}"] if apart else []
    if content.get("code") != code_hash():
        sentences.append("the code of recx or of a plugin is not that of the lock file")
    if content.get("options") != option_sources.content_hash():
        sentences.append("option files differ from those of the lock file, and with them settings may")
    return sentences


def versions() -> dict[str, str]:
    """Return the versions of Python and of the distributions that figures may depend on, by name."""
    names = dict.fromkeys([*LIBRARIES, *_of_plugins()])
    return {"python": platform.python_version(), **dict(filter(lambda pair: pair[1], map(_version, names)))}


def _of_plugins() -> Iterator[str]:
    for entry in option_sources.plugins():
        if entry.dist is not None:
            yield entry.dist.name
            needs = [text for text in entry.dist.requires or () if "extra ==" not in text]
            yield from (found[0] for text in needs if (found := re.match(r"[\w.-]+", text)))


def _version(name: str) -> tuple[str, str]:
    try:
        return name, metadata.version(name)
    except metadata.PackageNotFoundError:
        return name, ""


def code_hash() -> str:
    """Return a hash of the sources of recx and of the installed plugins."""
    digest = hashlib.blake2b(digest_size=16)
    for source in option_sources.packages():
        spec = find_spec(source.package)
        for folder in map(Path, (spec.submodule_search_locations if spec else None) or ()):
            for file in sorted(folder.rglob("*.py")):
                digest.update(f"{file.relative_to(folder).as_posix()} ".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()

"""``python -m recx new-plugin NAME [KIND ...]``: create a package with parts of the kinds that are asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from recx.cli.commands.parser import Parser
from recx.config import option_sources
from recx.core.errors import InputError, did_you_mean
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo

HERE = Path(__file__).parents[2]
TEMPLATE = HERE / "template" if (HERE / "template").is_dir() else HERE.parent / "plugins" / "recx-template"
"""The plugin to copy: inside the package when installed, among the plugins in a checkout."""

KINDS = ("dataset", "filter", "split", "encoder", "feature", "retriever", "ranker", "metric", "tracker")
"""The kinds of part, each with its module, option files, test and row in the README's table."""
USUAL = ("feature", "retriever", "ranker", "metric")
"""The kinds that are made if none is asked for."""
COMMON = ("README.md", "pyproject.toml", "recx_template/__init__.py", "recx_template/py.typed")
RESERVED = ("true", "false", "null", "nan", "inf")
"""Texts that are read as values where an option is chosen."""


def run(arguments: Sequence[str]) -> int:
    """Write the folder ``recx-NAME`` and print the next steps.

    Raises:
        InputError: The name is not valid for a package, a folder, an option or a plugin has it already, or there is no
            such kind.
    """
    parsed = parser().parse_args(arguments)
    name = parsed.name.replace("-", "_")
    for kind in parsed.kinds:
        if kind not in KINDS:
            raise InputError(f"recx new-plugin {name}: {kind!r} is not a kind of part: {did_you_mean(kind, KINDS)}")
    kinds = [kind for kind in KINDS if kind in (parsed.kinds or USUAL)]
    files = _files(kinds)
    folder = Path(f"recx-{name.replace('_', '-')}")
    if reason := _reason_against(name, folder, files):
        raise InputError(f"recx new-plugin {name}: {reason}")
    for file in files:
        copy = folder / str(file.relative_to(TEMPLATE)).replace("template", name)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = _without_others(file.read_text(encoding="utf-8"), kinds).replace("recx-template", folder.name)
        copy.write_text(text.replace("template", name), encoding="utf-8")
    echo(f"{folder} holds {_listed(kinds)}. Next:\n")
    steps = [f"pip install -e ./{folder}", *_commands(folder), f"python -m pytest {folder}"]
    echo("\n".join(f"  {step}" for step in steps))
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx new-plugin", description="Create a plugin to start from in the folder recx-NAME.")
    parser.add_argument("name", help="such as mine: the plugin is called recx-mine, its package recx_mine")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)}; without any: {', '.join(USUAL)}")
    return parser


def _files(kinds: Sequence[str]) -> list[Path]:
    patterns = ("recx_template/{}.py", "recx_template/conf/{}/*.yaml", "tests/test_{}.py")
    found = [file for kind in kinds for pattern in patterns for file in TEMPLATE.glob(pattern.format(kind))]
    return sorted([*found, *(TEMPLATE / name for name in COMMON)])


def _reason_against(name: str, folder: Path, files: Sequence[Path]) -> str:
    """Return why the plugin cannot be made, or nothing."""
    conf = TEMPLATE / "recx_template" / "conf"
    options = [file.relative_to(conf).with_suffix("").as_posix() for file in files if file.suffix == ".yaml"]
    taken = sorted(option_sources.options().keys() & {option.replace("template", name) for option in options})
    if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        return "a name consists of lower-case letters, digits and -, such as mine"
    if f"recx_{name}" in {source.package for source in option_sources.sources()}:
        return "a plugin of that name is installed: choose another name"
    if taken:
        return f"the option {taken[0]} exists already: choose another name"
    if name in RESERVED:
        return "it would be read as a value and not as text: choose another name"
    if folder.exists():
        return f"the folder {folder} exists already: remove it, or choose another name"
    return ""


def _without_others(text: str, kinds: Sequence[str]) -> str:
    """Return the text without the table's rows of other kinds."""
    others = tuple(f"| {kind} |" for kind in KINDS if kind not in kinds)
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(others))


def _commands(folder: Path) -> list[str]:
    """Return the commands in the README's table, which try the parts."""
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    return [line.split("`")[-2] for line in lines if line.startswith("| ") and "`" in line]


def _listed(kinds: Sequence[str]) -> str:
    named = [f"{'an' if kind == 'encoder' else 'a'} {kind}" for kind in kinds]
    return " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))

"""``python -m recx init DIR [--from FILE]``: create a project, which keeps its own parts beside its option files."""

from __future__ import annotations

import json
import keyword
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from recx.cli.commands.parser import Parser
from recx.config import option_sources
from recx.core.errors import InputError
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo

if TYPE_CHECKING:
    from recx.parts.dataset.table_guess import Guess

HERE = Path(__file__).parents[2]
PROJECT = HERE / "project" if (HERE / "project").is_dir() else HERE.parent / "examples" / "project"
"""The project to copy: inside the package when installed, among the examples in a checkout."""

FILES = ("README.md", ".gitignore", "pytest.ini", "conf/*/*.yaml", "cafe/*.py", "data/*.csv", "tests/*.py")
OF_ITS_DATA = ("cafe/dataset.py", "conf/dataset/mine.yaml", "data/orders.csv", "tests/test_dataset.py")
"""What a project for a file of one's own does without."""
FLAGS = {
    "user": "column of the users",
    "item": "column of the items",
    "time": "column of the times, or none",
    "weight": "column of the weights, or none",
    "order": "given or none: whether rows without times are in the order of time",
    "time-unit": "s, ms, us, ns or iso",
    "delimiter": "what separates the columns",
}
PLAIN = re.compile("[A-Za-z_/][A-Za-z0-9_./-]*")
VALUES = ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf")
"""Texts that YAML reads as values."""


def run(arguments: Sequence[str]) -> int:
    """Write the project into a folder and print the next steps.

    Raises:
        InputError: The folder is not empty, its name is not one for a package, or the file cannot be used.
    """
    parsed = vars(parser().parse_args(arguments))
    folder = Path(parsed["dir"])
    package = _package(folder)
    given = {name: parsed[name] for flag in FLAGS if parsed[name := flag.replace("-", "_")] is not None}
    if given and parsed["file"] is None:
        flag = next(iter(given)).replace("_", "-")
        raise InputError(f"recx init: --{flag} is about a file of your own: name it with --from FILE")
    guess = None if parsed["file"] is None else _look(Path(parsed["file"]), given)
    option = _option(package)
    _write(folder, package, option, guess)
    echo(f"{folder} holds a project, its package {package} and its option files.", end=" ")
    echo("Next:\n" if guess is None else f"Check conf/dataset/{option}.yaml:\n\n{_table(guess)}\nNext:\n")
    steps = [] if folder.resolve() == Path.cwd() else [f"cd {shlex.quote(str(folder))}"]
    steps += [f"python -m recx --config-dir conf +experiment={option}", "python -m pytest"]
    echo("\n".join(f"  {step}" for step in steps))
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx init", description="Create a project to start from: option files and parts of its own.")
    parser.add_argument("dir", metavar="DIR", help="the folder to create; its package gets the same name")
    parser.add_argument("--from", dest="file", metavar="FILE", help="a table of your own data: CSV, TSV or Parquet")
    for flag, what in FLAGS.items():
        parser.add_argument(f"--{flag}", help=f"with --from: {what}")
    return parser


def _package(folder: Path) -> str:
    """Return the name of the package of a project in this folder."""
    name = re.sub("[-. ]+", "_", folder.resolve().name.lower())
    reason = ""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        reason = "it exists already and is not an empty folder: choose another one"
    elif not re.fullmatch("[a-z][a-z0-9_]*", name):
        reason = f"its package would be called {name!r}: choose a name of letters, digits and _, such as my_project"
    elif keyword.iskeyword(name) or name in sys.stdlib_module_names or name in _folders():
        reason = f"its package would be called {name}, which has a meaning already: choose another name"
    elif _is_installed(name):
        reason = f"its package would be called {name}, and a package of that name is installed: choose another name"
    if reason:
        raise InputError(f"recx init {folder}: {reason}")
    return name


def _option(package: str) -> str:
    """Return the name of the options: ``mine``, or where a plugin has that already, the name of the package."""
    taken = {option.rpartition("/") for option in option_sources.options()}
    groups = {folder.name for folder in (PROJECT / "conf").iterdir()}
    free = [name for name in ("mine", package) if not any((group, "/", name) in taken for group in groups)]
    if not free:
        raise InputError(f"recx init: options called mine and {package} exist already: choose another name for DIR")
    return free[0]


def _folders() -> set[str]:
    """Return the names of the project's other folders."""
    return {path.name for path in PROJECT.iterdir() if path.is_dir()} - {"cafe"} | {"outputs"}


def _is_installed(name: str) -> bool:
    spec = find_spec(name)
    return spec is not None and spec.origin is not None  # a folder without code, such as DIR itself, has no origin


def _look(file: Path, given: Mapping[str, str]) -> Guess:
    from recx.parts.dataset.files import expand_home
    from recx.parts.dataset.table_guess import Given, guess

    return guess(Path(os.path.abspath(expand_home(str(file)))), Given(given))  # noqa: PTH100  keeps links as they are


def _write(folder: Path, package: str, option: str, guess: Guess | None) -> None:
    def renamed(text: str) -> str:
        return re.sub(r"\bmine\b", option, re.sub(r"\bcafe\b", package, text))

    files = {path.relative_to(PROJECT).as_posix(): path for pattern in FILES for path in PROJECT.glob(pattern)}
    chosen = [name for name in files if guess is None or name not in OF_ITS_DATA]
    texts = {renamed(name): renamed(files[name].read_text(encoding="utf-8")) for name in chosen}
    if guess is not None:
        texts[f"conf/dataset/{option}.yaml"] = _table(guess)
        texts["README.md"] = texts["README.md"].replace("data/orders.csv", str(guess.table.path))
        experiment = f"conf/experiment/{option}.yaml"
        lines = texts[experiment].splitlines(keepends=True)
        texts[experiment] = "".join(line for line in lines if "n_candidates" not in line)
    for name, text in sorted(texts.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _table(guess: Guess) -> str:
    """Return the option file of the dataset, with what was seen in the file."""
    lines = [f"# {Path(str(guess.table.path)).name}, whose columns `recx init` recognised: check them"]
    lines.append("_target_: recx.parts.dataset.table.Table")
    for name, value in vars(guess.table).items():
        seen = guess.seen.get(name)
        lines.append(f"{name}: {_yaml(value)}{f' # {seen}' if seen else ''}")
    return "\n".join(lines) + "\n"


def _yaml(value: str | int | None) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if PLAIN.fullmatch(value) and value.lower() not in VALUES:
        return value
    return json.dumps(value.replace("${", "\\${"), ensure_ascii=False)

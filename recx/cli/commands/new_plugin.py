"""``python -m recx new-plugin NAME``: create a package with a retriever, a ranker, a feature and a metric."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from recx.cli.commands.parser import Parser
from recx.config import option_sources
from recx.core.errors import InputError

HERE = Path(__file__).parents[2]
TEMPLATE = HERE / "template" if (HERE / "template").is_dir() else HERE.parent / "plugins" / "recx-template"
"""The plugin to copy: inside the package when installed, among the plugins in a checkout."""

FILES = ("*.toml", "*.md", "recx_template/**/*.py", "recx_template/conf/**/*.yaml", "tests/*.py")
RESERVED = ("true", "false", "null", "nan", "inf")
"""Texts that are read as values where an option is chosen."""


def run(arguments: Sequence[str]) -> int:
    """Write the folder ``recx-NAME`` and print the next steps.

    Raises:
        InputError: The name is not valid for a package, or a folder, an option or a plugin has it already.
    """
    parser = Parser(prog="recx new-plugin", description="Create a plugin to start from in the folder recx-NAME.")
    parser.add_argument("name", help="such as mine: the plugin is called recx-mine, its package recx_mine")
    name = parser.parse_args(arguments).name.replace("-", "_")
    files = {file.relative_to(TEMPLATE): file for pattern in FILES for file in TEMPLATE.glob(pattern)}
    options = [
        str(file.relative_to("recx_template/conf").with_suffix("")).replace("template", name)
        for file in files
        if file.suffix == ".yaml"
    ]
    taken = sorted(option_sources.options().keys() & set(options))
    folder = Path(f"recx-{name.replace('_', '-')}")
    reason = ""
    if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        reason = "a name consists of lower-case letters, digits and -, such as mine"
    elif f"recx_{name}" in {source.package for source in option_sources.sources()}:
        reason = "a plugin of that name is installed: choose another name"
    elif taken:
        reason = f"the option {taken[0]} exists already: choose another name"
    elif name in RESERVED:
        reason = "it would be read as a value and not as text: choose another name"
    elif folder.exists():
        reason = f"the folder {folder} exists already: remove it, or choose another name"
    if reason:
        raise InputError(f"recx new-plugin {name}: {reason}")
    for path, file in sorted(files.items()):
        copy = folder / str(path).replace("template", name)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8").replace("recx-template", folder.name)
        copy.write_text(text.replace("template", name), encoding="utf-8")
    print(f"{folder}/recx_{name}/parts.py holds a retriever, a ranker, a feature and a metric. Next:\n")
    print(f"  pip install -e {folder}\n  python -m recx +experiment=news retriever={name}\n  python -m pytest {folder}")
    return 0

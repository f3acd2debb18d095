"""``python -m recx new-plugin NAME``: a package with a retriever, a ranker, a feature and a metric to start from."""

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


NO_WORDS = ("true", "false", "null", "nan", "inf")
"""What is read as a value and not as a word where an option is chosen."""


def run(arguments: Sequence[str]) -> int:
    """Write the folder ``recx-NAME`` and say what to do with it.

    Raises:
        InputError: the name cannot be one of a package, or the folder, an option or a plugin of that name is there.
    """
    parser = Parser(prog="recx new-plugin", description="Write a plugin to start from into the folder recx-NAME.")
    parser.add_argument("name", help="a word such as mine: the plugin is called recx-mine, its package recx_mine")
    name = parser.parse_args(arguments).name.replace("-", "_")
    if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise InputError(f"recx new-plugin {name}: a name is made of small letters, digits and -, such as mine")
    if f"recx_{name}" in {source.package for source in option_sources.sources()}:
        raise InputError(f"recx new-plugin {name}: a plugin of that name is installed: choose another one")
    files = (
        file.relative_to(TEMPLATE / "recx_template" / "conf") for file in TEMPLATE.glob("recx_template/conf/*/*.yaml")
    )
    made = {str(file.with_suffix("")).replace("template", name) for file in files}
    taken = sorted(made & option_sources.options().keys())
    if taken or name in NO_WORDS:
        why = f"there is an option {taken[0]} already" if taken else "that is read as a value and not as a word"
        raise InputError(f"recx new-plugin {name}: {why}: choose another name")
    folder = Path(f"recx-{name.replace('_', '-')}")
    if folder.exists():
        raise InputError(f"{folder} is there already: remove it, or choose another name")
    for file in sorted({file for pattern in FILES for file in TEMPLATE.glob(pattern)}):
        copy = folder / str(file.relative_to(TEMPLATE)).replace("template", name)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8").replace("recx-template", folder.name)
        copy.write_text(text.replace("template", name), encoding="utf-8")
    print(f"{folder}/recx_{name}/parts.py holds a retriever, a ranker, a feature and a metric. Next:\n")
    print(f"  pip install -e {folder}\n  python -m recx +experiment=news retriever={name}\n  python -m pytest {folder}")
    return 0

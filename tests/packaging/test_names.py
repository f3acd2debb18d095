"""No text tells anybody to install recx, or anything of recx, by a bare name, which pip would look for on an index.

``recx`` is a stranger's there, and anybody may register a name that begins with ``recx-``. What is installed is named
as a folder (``-e .``, ``./recx-mine``, ``plugins/recx-text``) or as the file of a wheel.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("recx", "conf", "examples", "plugins", "benchmarks", "docs", "tests", ".ci", ".github")
SUFFIXES = {
    ".py",
    ".pyi",
    ".md",
    ".toml",
    ".yaml",
    ".yml",
    ".txt",
    ".jinja",
    ".js",
    ".css",
    ".svg",
    ".cfg",
    ".ipynb",
    "",
}
GENERATED = {"__pycache__", "outputs", "build", "dist"}

OURS = r"recx(?:[-_][a-z0-9_-]*[a-z0-9])?(?![\w-]|\.\w)"
INSTALLER = re.compile(
    r"\b(?:pip[0-9.]*|pipx|uv|uvx|poetry|pdm|rye|hatch|pixi|conda|mamba|easy_install)(?: (?:pip|tool))?"
    r" (?:install|add|inject|run|download|wheel)(?P<words>(?: +[^\s`;&|#()]+)*)"
)
TAKES_FOLDER = ("-e", "--editable")
TAKES_VALUE = ("-c", "--constraint", "-r", "--requirement", "-f", "--find-links", "-i", "--index-url", "-t", "--target")
BARE = re.compile(rf"{OURS}(?:\[[^\]]*\])?(?:(?:[=<>!~]=?|@).*)?|{{}}")
WITH_EXTRA = re.compile(rf"(?<![\w./-]){OURS}\[(?!['\"{{])[a-z][a-z0-9_, -]*\]")
WITH_VERSION = re.compile(rf"(?<![\w./-]){OURS} ?(?:==|>=|<=|~=|!=|>|<) ?[0-9]")
IN_PROSE = re.compile(
    rf"\b(?<!never )(?<!not )(?<!do i )(?:install|reinstall|get|fetch|download) "
    rf"(?:the )?(?:plugin |package |distribution )?{OURS}(?! again| from (?:its|a|the) (?:folder|wheel|checkout))",
    flags=re.IGNORECASE,
)
REQUIRED = re.compile(rf"(?:dependencies|requires|install_requires) ?= ?\[[^\]]*?[\"']({OURS})[^\"']*[\"']")
NEEDED = re.compile(r"recx|\{\}", flags=re.IGNORECASE)
"""Every fault has one of these in it: most texts have none, and are looked at no further."""


def faults(text: str) -> list[str]:
    """Return what in a text would be looked for on an index, or reads as if it were there."""
    if not NEEDED.search(text):
        return []
    text = re.sub(r"\\\n", " ", text)
    found = [word for command in INSTALLER.finditer(text) for word in _bare(command["words"].split())]
    plain = " ".join(text.replace("`", "").split())
    found += [part for pattern in (WITH_EXTRA, WITH_VERSION, IN_PROSE) for part in pattern.findall(plain)]
    return found + [name for name in REQUIRED.findall(plain) if name != "recx-lab"]


def _bare(words: list[str]) -> Iterator[str]:
    """Yield the words behind ``pip install`` that are names of ours, and ``{}``, a word that only a run knows."""
    previous = ""
    for word in (word.strip("'\",.:") for word in words):
        if BARE.fullmatch(word) and previous not in (*TAKES_FOLDER, *TAKES_VALUE):
            yield word
        previous = word


@pytest.mark.parametrize(
    "text",
    [
        "pip install recx",
        "run `pip install recx-text` first",
        "pip install -U 'recx[sweep]'",
        "pip install recx-lab",
        "pip3 install numpy recx_text==0.1.0",
        "python -m pip install --quiet \\\n    -c constraints.txt recx-transformer",
        "pip install -e . recx-lightgbm",
        "pip install recx-mine\n",
        "uv add recx-lab",
        "uv pip install recx",
        "uv tool install recx-lab",
        "pipx run recx-lab",
        "poetry add recx-text",
        "conda install recx",
        "the sweeper needs recx[sweep]",
        "add `recx-lab[sweep]` to your project",
        "requirements: recx-text>=0.1",
        "recx == 0.1.0",
        'dependencies = ["numpy", "recx"]',
        'dependencies = ["recx-text>=0.1"]',
        "is not found: install recx-text",
        "to use it, install the plugin\n`recx-lightgbm`",
        "Get recx-lab from PyPI",
        "pip install {}",
    ],
)
def test_a_text_that_names_an_index_is_found(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install -c constraints.txt -e '.[dev]'",
        "pip install -e ./recx-mine",
        "pip install -e recx-mine",
        "pip install ./recx_text-*.whl",
        "pip install recx_lab-0.1.0-py3-none-any.whl",
        "pip install './recx_lab-0.1.0-py3-none-any.whl[sweep,ray]'",
        "pip install -c constraints.txt -e plugins/recx-text 'plugins/recx-text[test]'",
        "pip install -c recx/constraints.txt -r requirements.txt numpy",
        "pip uninstall recx recx-lab",
        "pip uninstall recx, then install recx-lab again from its folder or wheel",
        "pip install -e '.[{}]' in recx's checkout",
        "pip install -e ./{}",
        'dependencies = ["recx-lab"]',
        "the extra test in pyproject.toml, installed beside recx",
        "Never install recx by its bare name",
        "python -m recx +experiment=news",
    ],
)
def test_a_text_that_names_a_folder_or_a_wheel_passes(text: str) -> None:
    assert faults(text) == []


def files() -> list[Path]:
    """Return every text of the repository but this file and the data of tests."""
    found = [file for place in PLACES for file in (ROOT / place).rglob("*")] + list(ROOT.glob("*"))
    return sorted(
        file
        for file in found
        if file.is_file() and file.suffix in SUFFIXES and file != Path(__file__).resolve()
        if not any(part in GENERATED or part.endswith((".egg-info", "_cache")) for part in file.parts)
    )


def texts(file: Path) -> Iterator[str]:
    """Yield what a file says: of Python its strings, each as it is put together, and its blocks of comments."""
    content = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        yield re.sub(r"^[ \t]*#", "", content, flags=re.MULTILINE) if file.suffix in (".yaml", ".yml") else content
        return
    inner = set[int]()
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            inner.update(id(part) for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value
    if not re.search(rf"#.*(?:{NEEDED.pattern})", content, flags=re.IGNORECASE):
        return
    comments = [
        token for token in tokenize.generate_tokens(io.StringIO(content).readline) if token.type == tokenize.COMMENT
    ]
    yield "\n".join(token.string.lstrip("# ") for token in comments)


def test_no_text_names_an_index() -> None:
    looked_at = files()
    names = {file.relative_to(ROOT).as_posix() for file in looked_at}
    assert {"README.md", "Makefile", ".ci/run", "recx/cli/help.txt", "plugins/recx-text/pyproject.toml"} <= names
    found = {
        (str(file.relative_to(ROOT)), fault) for file in looked_at for text in texts(file) for fault in faults(text)
    }
    # An extra that contains another of the same distribution: pip takes it from the distribution that it installs.
    assert not {(file, fault) for file, fault in found if (file, fault[:9]) != ("pyproject.toml", "recx-lab[")}


def test_a_message_of_code_is_looked_at_as_it_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text('# needs\n# pip install recx\nraise E(f"{x}: pip install "\n "recx-text")\n', encoding="utf-8")
    assert {fault for text in texts(file) for fault in faults(text)} >= {"recx-text", "recx"}


PROJECTS = [ROOT / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]


@pytest.mark.parametrize("file", PROJECTS, ids=lambda file: file.parent.name)
def test_a_package_of_ours_requires_recx_lab_and_no_other(file: Path) -> None:
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    required = [
        *project["dependencies"],
        *(one for more in project.get("optional-dependencies", {}).values() for one in more),
    ]
    ours = {re.split(r"[\[<>=~! ;]", one)[0] for one in required if one.startswith("recx")}
    assert ours == {"recx-lab"}
    assert project["name"] != "recx"

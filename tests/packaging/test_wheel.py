"""The wheels hold everything that a run needs, option files included, and run together without the checkout."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from email import message_from_string
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from recx import __version__

ROOT = Path(__file__).resolve().parents[2]
KINDS = (".py", ".yaml", ".toml", ".jinja", ".css", ".js", ".txt", ".typed", ".ini", ".csv")
PACKAGES = {
    "recx-lab": ".",
    **{
        f"recx-{name}": f"plugins/recx-{name}"
        for name in ("bridges", "graph", "implicit", "lightgbm", "llm", "template", "text", "transformer")
    },
}
"""Distribution -> its folder."""
SITE = {"index.html": "<h1>recx</h1>", "_static/site.css": "p {}", ".doctrees/index.doctree": "", ".buildinfo": ""}
"""File -> content of a small site in place of the one that ``make docs`` builds."""
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the wheel of each distribution, built from a plain copy so that nothing is left in the checkout."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheels")
    copy(source)
    for name, text in SITE.items():
        (source / "docs" / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (source / "docs" / "site" / name).write_text(text, encoding="utf-8")
    for folder in PACKAGES.values():
        build(source / folder, target)
    shutil.rmtree(source)
    found = {wheel.name.split("-")[0].replace("_", "-"): wheel for wheel in target.glob("*.whl")}
    assert set(found) == set(PACKAGES)
    return found


def copy(target: Path) -> None:
    """Copy what wheels are built from, but the site."""
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, target / name)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "outputs", "site")
    for name in ("recx", "conf", "docs", "examples", "plugins"):
        shutil.copytree(ROOT / name, target / name, ignore=ignored)


def build(folder: Path, target: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def unpacked(wheels: dict[str, Path]) -> Path:
    """Return a folder with the content of all wheels."""
    target = wheels["recx-lab"].parent / "unpacked"
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)
    return target


@pytest.fixture(scope="module")
def python(wheels: dict[str, Path], unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment in which the wheels are installed, in the versions that one contains.

    What they need is taken from the environment of the tests, as far as it is there: pip installs the rest.
    """
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    [site] = environment.glob("lib/python*/site-packages")
    (site / "needed.pth").write_text(sysconfig.get_path("purelib"))  # without what is editable there, such as recx
    python = environment / "bin" / "python"
    run([python, *PIP, "install", "-c", unpacked / "recx" / "constraints.txt", *wheels.values()], environment)
    return python


def run(command: list[str | Path], folder: Path) -> str:
    """Return what a command prints that works and warns of nothing, without the checkout on its path."""
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")  # with it each start compiles all
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(
        command, cwd=folder, env={**environment, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_changelog_begins_with_this_version() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert newest
    assert newest[1] == __version__


@pytest.mark.slow
def test_every_module_and_option_file_is_in_the_wheel(unpacked: Path) -> None:
    sources = {
        "recx": "recx",
        "conf": "recx/conf",
        "examples/project": "recx/project",
        "plugins/recx-template": "recx/template",
    }
    expected = {
        Path(there) / file.relative_to(ROOT / here)
        for here, there in sources.items()
        for kind in KINDS
        for file in (ROOT / here).rglob(f"*{kind}")
        if not any(part.endswith(".egg-info") for part in file.parts)
    } | {Path("recx/template/recx_template/py.typed"), Path("recx/py.typed")}
    packed = {
        file.relative_to(unpacked)
        for file in (unpacked / "recx").rglob("*")
        if file.suffix in KINDS or file.name == "py.typed"
    }
    assert {file for file in packed if file.parts[1] != "docs"} == expected
    assert (unpacked / f"recx_lab-{__version__}.dist-info").is_dir()
    assert (unpacked / "recx" / "constraints.txt").read_text(encoding="utf-8") == (ROOT / "constraints.txt").read_text(
        encoding="utf-8"
    )


def pages() -> set[Path]:
    """Return the pages and pictures, as they lie in a wheel."""
    files = [file for file in (ROOT / "docs").rglob("*.md") if ROOT / "docs" / "site" not in file.parents]
    return {Path("recx") / file.relative_to(ROOT) for file in (*files, *(ROOT / "docs" / "pictures").iterdir())}


@pytest.mark.slow
def test_every_page_and_the_site_are_in_the_wheel(unpacked: Path) -> None:
    packed = {file.relative_to(unpacked) for file in (unpacked / "recx" / "docs").rglob("*") if file.is_file()}
    shown = {Path("recx/docs/site") / name for name in SITE if not name.startswith(".")}
    assert packed == pages() | shown


@pytest.mark.slow
def test_a_wheel_without_a_site_has_every_page(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    copy(tmp_path / "source")
    build(tmp_path / "source", tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {Path(name) for name in archive.namelist() if name.startswith("recx/docs/")}
    assert packed == pages()


@pytest.mark.slow
def test_the_pages_and_the_site_are_found_in_an_empty_folder(python: Path, tmp_path: Path) -> None:
    assert "How do I run recx on my own data?" in run([python, "-m", "recx", "help", "own-data"], tmp_path)
    address = run([python, "-m", "recx", "docs", "--print"], tmp_path).strip()
    [site] = python.parents[1].glob("lib/python*/site-packages")
    assert address == (site / "recx" / "docs" / "site" / "index.html").as_uri()


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGES)
def test_a_description_needs_neither_the_repository_nor_a_checkout(name: str, unpacked: Path) -> None:
    [metadata] = unpacked.glob(f"{name.replace('-', '_')}-*.dist-info/METADATA")
    message = message_from_string(metadata.read_text(encoding="utf-8"))
    text = message.get_payload()
    assert isinstance(text, str)
    assert message["Description-Content-Type"] == "text/markdown"
    assert text.startswith("# recx")
    assert relative_targets(text) == []
    assert needs_of_checkout(text, name) == []


def relative_targets(text: str) -> list[str]:
    """Return the targets of links and pictures in Markdown that a page elsewhere cannot follow, and raw HTML."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    tokens += [inner for token in tokens for inner in token.children or ()]
    html = [token.content for token in tokens if token.type in ("html_block", "html_inline")]
    targets = [str(token.attrs.get("href", token.attrs.get("src", "https:"))) for token in tokens]
    return [target for target in targets if not target.startswith(("https:", "http:", "mailto:", "#"))] + html


def needs_of_checkout(text: str, name: str) -> list[str]:
    """Return what in a text works only in the root of a checkout; a plugin may name its own folder."""
    commands = r"\bmake \w[\w-]*|\bpip .*-e \S+|-c constraints\S*"
    found = re.findall(commands + r"|(?<![\w/])(?:docs|conf|plugins)/\S+|\bfrom the root\b", text)
    return [part for part in found if not part.endswith(f"-e ./{name}")]


@pytest.mark.parametrize(
    "text",
    [
        "see [this](docs/how-to/own-part.md)",
        "![a picture](summary.svg)",
        "| a |\n| --- |\n| [b](c.md) |",
        "[a]: b/c.md\n\nsee [a]",
        '<img src="x.png">',
    ],
)
def test_a_relative_target_is_found(text: str) -> None:
    assert relative_targets(text)
    assert not relative_targets("see [this](https://example.org/a.md), ![that](https://example.org/b.svg) or [c](#d)")


@pytest.mark.parametrize(
    "text", ["`make test`", "pip install -e .", "pip install -c constraints.txt ./a.whl", "see docs/concepts/cache.md"]
)
def test_a_text_that_needs_the_checkout_is_found(text: str) -> None:
    assert needs_of_checkout(text, "recx-mine")
    assert not needs_of_checkout("pip install -e ./recx-mine makes sense of recx_mine/conf/ranker/x.yaml", "recx-mine")


@pytest.mark.slow
def test_the_wheels_are_what_is_installed_and_fit_together(python: Path, wheels: dict[str, Path]) -> None:
    [site] = python.parents[1].glob("lib/python*/site-packages")
    ours = {found.name: found for found in distributions(path=[str(site)]) if found.name.startswith("recx")}
    assert {name: origin(found) for name, found in ours.items()} == {name: w.as_uri() for name, w in wheels.items()}
    assert run([python, "-c", "import recx; print(recx.__file__)"], site.parent).startswith(str(site))


def origin(found: Distribution) -> str:
    return str(json.loads(found.read_text("direct_url.json") or "{}").get("url"))


SMALL = "+experiment=news tracker=console dataset.readers=120 dataset.articles=80 dataset.days=3"
RUNS = {
    f"{SMALL} retriever=template": ("recx_template.", "recx.parts.ranker.linear."),
    f"{SMALL} retriever=transformer retriever.factors=8 retriever.epochs=1 ranker=lambdamart": (
        "recx_transformer.",
        "recx_lightgbm.",
    ),
}
"""A command -> the modules of parts that its saved configuration names."""


@pytest.mark.slow
@pytest.mark.parametrize("line", RUNS)
def test_an_experiment_runs_in_an_empty_folder(line: str, python: Path, tmp_path: Path) -> None:
    run([python.with_name("recx"), *shlex.split(line)], tmp_path)
    [metrics] = tmp_path.glob("outputs/*/*_news/metrics.json")
    config = metrics.with_name("config.yaml").read_text(encoding="utf-8")
    assert all(module in config for module in RUNS[line])


@pytest.mark.slow
def test_commands_work_in_an_empty_folder(python: Path, tmp_path: Path) -> None:
    listed = run([python, "-m", "recx", "list"], tmp_path)
    plugins = ("transformer", "graph", "implicit", "lightgbm", "llm", "text", "template")
    for word in (f"recx_{name}" for name in plugins):
        assert word in listed
    steps = run([python, "-m", "recx", "new-plugin", "mine"], tmp_path)
    [install] = re.findall(r"pip (install .*)", steps)
    run([python, *PIP, *shlex.split(install), "--no-build-isolation"], tmp_path)
    run([python, "-m", "recx", *SMALL.split(), "retriever=mine"], tmp_path)


@pytest.mark.slow
def test_a_project_is_written_and_runs_in_an_empty_folder(python: Path, tmp_path: Path) -> None:
    steps = run([python, "-m", "recx", "init", "shop"], tmp_path)
    [words] = re.findall(r"python -m recx (.*)", steps)  # its options have another name where recx-mine is installed
    run([python.with_name("recx"), *words.split(), "tracker=console"], tmp_path / "shop")
    assert list(tmp_path.glob("shop/outputs/*/*_shop/metrics.json"))

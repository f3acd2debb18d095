"""Who may import whom, read from the source: stages never import each other, and what is heavy is imported late."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "recx").rglob("*.py"))
HEAVY = {"faiss", "matplotlib", "mlflow", "pandas", "pyarrow", "scipy", "sklearn", "torch"}
STARTUP = {"numpy", *HEAVY}


@cache
def imports(file: Path, *, at_import: bool = False) -> tuple[str, ...]:
    """Return the modules that a file imports; ``at_import``: only those that importing the file imports."""
    return tuple(_imports(file, at_import))


def _imports(file: Path, at_import: bool) -> Iterator[str]:
    pending: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)
        late = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        )
        if not (at_import and late):
            pending.extend(ast.iter_child_nodes(node))


def test_no_module_imports_an_underscore_name_of_another() -> None:
    private = re.compile(r"recx[\w.]*\._(?!_)")
    assert not {f"{file.name}: {name}" for file in FILES for name in imports(file) if private.match(name)}


def test_the_core_never_imports_torch() -> None:
    assert not {file.name for file in FILES if "torch" in {name.split(".")[0] for name in imports(file)}}


def test_what_comes_with_an_extra_is_imported_late_and_in_few_places() -> None:
    for library, files in {
        "optuna": {"optuna.py", "median_pruner.py", "hydra_internals.py", "importance.py", "tuning.py"},
        "ray": {"ray.py", "cluster.py", "worker.py", "side_by_side.py"},
    }.items():
        assert {file.name for file in FILES if library in {name.split(".")[0] for name in imports(file)}} <= files
        early = {name.split(".")[0] for file in FILES for name in imports(file, at_import=True)}
        assert library not in early


def test_tests_import_mlflow_as_late_as_recx_does() -> None:
    """MLflow reads its environment when it is imported, so whoever comes first decides whether it is quiet."""
    early = re.compile(r"^(import|from) mlflow\b", re.MULTILINE)
    assert not {file.name for file in (ROOT / "tests").rglob("*.py") if early.search(file.read_text(encoding="utf-8"))}


def test_nothing_heavy_is_imported_before_a_part_is_chosen() -> None:
    by_name = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in FILES}
    pending, reached, brought = (
        ["recx.cli.main", "recx.config.compose", "recx.jobs.launch", "recx.experiment.build"],
        set(),
        {},
    )
    while pending:
        name = pending.pop()
        if name in by_name and name not in reached:
            reached.add(name)
            found = set(imports(by_name[name], at_import=True))
            brought.update({other: name for other in found if other.split(".")[0] in HEAVY})
            pending.extend(found)
    assert "recx.experiment.experiment" in reached
    assert not brought


@pytest.mark.parametrize("arguments", [["--help"], ["list"]])
def test_the_command_line_starts_without_anything_heavy(arguments: list[str]) -> None:
    script = (
        f"import sys; sys.argv = ['recx', *{arguments}]\n"
        "from recx.cli.main import main\n"
        f"code = main(); print(code, sorted({STARTUP} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_composing_a_configuration_brings_nothing_heavy() -> None:
    script = (
        f"import sys; from recx.config.compose import compose; compose([]); print(sorted({STARTUP} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_the_page_on_architecture_names_every_folder_and_no_other() -> None:
    page = (ROOT / "docs" / "concepts" / "architecture.md").read_text(encoding="utf-8")
    folders = page[page.index("## The folders") : page.index("At the top stand")]
    named = set(re.findall(r"^\| `(\w+)/` \|", folders, flags=re.MULTILINE))
    assert named == {folder.parent.name for folder in (ROOT / "recx").glob("*/__init__.py")}


MIRRORED = {folder.parent.name for folder in (ROOT / "recx").glob("*/__init__.py")}
OF_A_KIND = {
    *("test_contract.py", "test_data_too_small.py", "test_options.py", "test_older_runs.py", "test_texts.py"),
    *("test_best_on_servers.py", "test_served_models.py", "test_servers.py"),
}
"""Test files that are about all modules of their folder."""


def test_tests_mirror_the_tree() -> None:
    """Every test file in a folder that mirrors one of recx is named for a module there."""
    odd = []
    for file in (ROOT / "tests").rglob("test_*.py"):
        place = file.relative_to(ROOT / "tests")
        module = ROOT / "recx" / place.parent / place.name.removeprefix("test_")
        if place.parts[0] in MIRRORED and place.name not in OF_A_KIND and not module.is_file():
            odd.append(str(place))
    assert not odd

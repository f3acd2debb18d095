"""The version of the code: what a module imports counts, and nothing else."""

from __future__ import annotations

import ast
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from recx.storage.cache import code_version

FILES = {
    "__init__.py": "",
    "one.py": "from __future__ import annotations\nfrom . import two\nfrom typing import TYPE_CHECKING\n"
    "if TYPE_CHECKING:\n    from lone import four\n",
    "two.py": "def f():\n    from lone.three import x\n    return x\n",
    "three.py": "x = 1\n",
    "four.py": "import numpy\n",
}


ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lone"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(code_version, "STARTED", time.time_ns() + 10**15)  # as if these files had been there before
    monkeypatch.delitem(sys.modules, "lone", raising=False)
    invalidate_caches()
    import_module("lone")
    forget()
    return folder


def forget() -> None:
    for memo in vars(code_version).values():
        if hasattr(memo, "cache_clear"):
            memo.cache_clear()


def version(*modules: str) -> str:
    forget()
    return code_version.code_of(modules)


@pytest.mark.parametrize(("changed", "counts"), [("one", True), ("two", True), ("three", True), ("four", False)])
def test_editing_a_module_counts_where_it_is_imported(package: Path, changed: str, counts: bool) -> None:
    before = version("lone.one")
    (package / f"{changed}.py").write_text(FILES[f"{changed}.py"] + "# edited\n")
    assert (version("lone.one") != before) is counts


def test_the_door_for_authors_counts_as_the_modules_behind_the_names_used(package: Path) -> None:
    (package / "four.py").write_text("from recx.plugin import InputError, position_of_rows\n")
    forget()
    files = {
        file.relative_to(ROOT).as_posix() for file in code_version._walked(("lone.four",))[1] if ROOT in file.parents
    }
    assert files == {
        "recx/core/errors.py",
        "recx/core/exit_codes.py",
        "recx/core/ragged.py",
        "recx/core/secrets.py",
        "recx/core/system/threads.py",
    }
    (package / "four.py").write_text("from recx import plugin\n")
    forget()
    files = {
        file.relative_to(ROOT).as_posix() for file in code_version._walked(("lone.four",))[1] if ROOT in file.parents
    }
    assert {"recx/plugin.py", "recx/core/errors.py", "recx/parts/shared/top_k.py"} <= files


def test_the_versions_of_libraries_count(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = version("lone.four"), version("lone.three")
    monkeypatch.setattr(code_version, "fingerprint", lambda name: "99")
    assert version("lone.four") != before[0]
    assert version("lone.three") == before[1]


def test_editing_the_linear_ranker_changes_no_retriever(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = [
        "recx.parts.ranker.linear",
        "recx.parts.retriever.union",
        "recx.parts.retriever.item_knn",
        "recx.parts.dataset.news",
    ]
    modules += ["recx.parts.feature.popularity", "recx.evaluation.evaluator", "recx.parts.split.leave_last"]
    for name in modules:
        import_module(name)
    before = {name: version(name) for name in modules}
    real = Path.read_bytes
    edited = Path(str(import_module("recx.parts.ranker.linear").__file__))
    monkeypatch.setattr(Path, "read_bytes", lambda self: real(self) + (b"\n# edited" if self == edited else b""))
    assert [name for name in modules if version(name) != before[name]] == ["recx.parts.ranker.linear"]


def test_all_of_a_package_that_imports_by_name_counts(package: Path) -> None:
    (package / "one.py").write_text("from importlib import import_module\nx = import_module('lone.' + 'four')\n")
    before = version("lone.one")
    (package / "four.py").write_text("y = 2\n")
    assert version("lone.one") != before


def test_a_branch_beside_that_of_type_checkers_counts(package: Path) -> None:
    (package / "one.py").write_text(
        "if not TYPE_CHECKING:\n    import lone.two\nif TYPE_CHECKING:\n    pass\nelse:\n    import lone.four\n"
    )
    before = version("lone.one")
    for name in ("two", "four"):
        (package / f"{name}.py").write_text("y = 2\n")
        after = version("lone.one")
        assert after != before
        before = after


def test_a_package_around_a_module_and_its_other_files_count(package: Path) -> None:
    seen = {version("lone.three")}
    for name in ("__init__.py", "words.txt", "data/more.bin"):
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text("x = 1\n")
        seen.add(version("lone.three"))
    (package / "conf").mkdir()
    (package / "conf" / "option.yaml").write_text("x: 1")
    seen.add(version("lone.three"))
    assert len(seen) == 4


def test_a_module_beside_that_nobody_installed_counts_by_its_source(package: Path) -> None:
    (package.parent / "helper_of_lone.py").write_text("x = 1\n")
    (package / "one.py").write_text("def f():\n    from helper_of_lone import x\n    return x\n")
    invalidate_caches()
    before = version("lone.one")
    (package.parent / "helper_of_lone.py").write_text("x = 2\n")
    assert version("lone.one") != before


def test_two_threads_never_parse_at_a_time(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    parse, inside, most = ast.parse, set[bytes](), list[int]()

    def slow_parse(source: bytes) -> ast.Module:
        inside.add(source)
        time.sleep(0.01)
        most.append(len(inside))
        inside.remove(source)
        return parse(source)

    with monkeypatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(ast, "parse", slow_parse)
        versions = list(pool.map(lambda module: code_version.code_of((module,)), ["lone.one", "lone.two"]))
    assert len(set(versions)) == 2
    assert set(most) == {1}


def test_what_is_edited_while_it_runs_has_no_version_any_more(package: Path) -> None:
    before = version("lone.one")
    (package / "three.py").write_text("x = 2\n")
    with pytest.raises(code_version.NoKeyError, match=r"three.py was edited"):
        code_version.code_of(("lone.one",))
    (package / "three.py").write_text(FILES["three.py"])
    assert code_version.code_of(("lone.one",)) == before


def test_what_was_edited_since_recx_was_imported_has_no_version(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was imported may be older than the file, which nobody has read before."""
    monkeypatch.setattr(code_version, "STARTED", (package / "three.py").stat().st_mtime_ns - 1)
    with pytest.raises(code_version.NoKeyError, match="was edited"):
        code_version.code_of(("lone.one",))


def test_what_has_no_file_or_cannot_be_parsed_has_no_version(package: Path) -> None:
    forget()
    for name in ("lone.none", "no_such_package.part"):
        with pytest.raises(code_version.NoKeyError, match="has no file"):
            code_version.code_of((name,))
    (package / "one.py").write_text("x = (\n")
    with pytest.raises(code_version.NoKeyError, match="cannot be parsed"):
        version("lone.one")

"""The version of the code: what a module imports counts, and nothing else."""

from __future__ import annotations

import sys
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from recx import source

FILES = {
    "__init__.py": "",
    "one.py": "from __future__ import annotations\nfrom . import two\nfrom typing import TYPE_CHECKING\n"
    "if TYPE_CHECKING:\n    from lone import four\n",
    "two.py": "def f():\n    from lone.three import x\n    return x\n",
    "three.py": "x = 1\n",
    "four.py": "import numpy\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lone"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lone", raising=False)
    invalidate_caches()
    import_module("lone")
    forget()
    return folder


def forget() -> None:
    for memo in (source.code_of, source._file_of, source._imports, source._version):
        memo.cache_clear()


def version(*modules: str) -> str:
    forget()
    return source.code_of(modules)


@pytest.mark.parametrize(("changed", "counts"), [("one", True), ("two", True), ("three", True), ("four", False)])
def test_editing_a_module_counts_where_it_is_imported(package: Path, changed: str, counts: bool) -> None:
    before = version("lone.one")
    (package / f"{changed}.py").write_text(FILES[f"{changed}.py"] + "# edited\n")
    assert (version("lone.one") != before) is counts


def test_the_versions_of_libraries_count(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = version("lone.four"), version("lone.three")
    monkeypatch.setattr(source.metadata, "version", lambda name: "99")
    assert version("lone.four") != before[0]
    assert version("lone.three") == before[1]


def test_editing_the_linear_ranker_changes_no_retriever(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = ["recx.ranker.linear", "recx.retriever.union", "recx.retriever.item_knn", "recx.dataset.news"]
    modules += ["recx.feature.popularity", "recx.evaluator.lines", "recx.split.leave_last"]
    for name in modules:
        import_module(name)
    before = {name: version(name) for name in modules}
    real = Path.read_bytes
    edited = Path(str(import_module("recx.ranker.linear").__file__))
    monkeypatch.setattr(Path, "read_bytes", lambda self: real(self) + (b"\n# edited" if self == edited else b""))
    assert [name for name in modules if version(name) != before[name]] == ["recx.ranker.linear"]

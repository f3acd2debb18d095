"""Tutorials are notebooks in MyST. ``make docs`` runs them and fails where a cell does; here is what else they need."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from nbformat import NotebookNode
from streams import joined

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if page.stem != "index"]
of_each = pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def cells(page: Path) -> list[str]:
    notebook = read_myst_markdown_notebook(text(page), MdParserConfig())
    assert notebook is not None
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def sections(page: Path) -> list[str]:
    """Return the parts of a page that begin at a heading of the second level; the first is what stands before them."""
    _, _, body = text(page).split("---\n", 2)
    return re.split(r"^(?=## )", body, flags=re.MULTILINE)


@of_each
def test_it_is_a_notebook_that_says_so(page: Path) -> None:
    before, front, _ = text(page).split("---\n", 2)
    assert (before, "\nfile_format: mystnb\n" in f"\n{front}", "\n  name: python3\n" in front) == ("", True, True)
    assert len(cells(page)) >= 5


@of_each
def test_it_says_first_what_comes_out_and_how_long_it_takes(page: Path) -> None:
    heading, first, *_ = sections(page)[0].strip().split("\n\n")
    assert heading.startswith("# ")
    assert re.search(r"\bend\b", first)
    assert re.search(r"\bminutes?\b", first)


@of_each
def test_it_ends_with_where_to_go_next(page: Path) -> None:
    last = sections(page)[-1]
    assert last.startswith("## Where to go next\n")
    assert len(re.findall(r"^- .*\]\([\w./-]+\.md(?:#[\w-]+)?\)", last, flags=re.MULTILINE)) >= 3


@of_each
def test_the_how_to_pages_that_it_fits_end_with_a_link_to_it(page: Path) -> None:
    ends = [text(how_to).rstrip().rpartition("\n\n")[2] for how_to in (FOLDER.parent / "how-to").glob("*.md")]
    assert any(f"](../tutorials/{page.name})" in end for end in ends)


@of_each
def test_no_output_is_typed(page: Path) -> None:
    """Outputs come from the build: beside cells a page has commands, code and files, and no block of text."""
    fences = re.findall(r"^```(.*)$", text(page), flags=re.MULTILINE)[::2]
    assert set(fences) <= {"{code-cell} ipython3", "", "python", "yaml", "json"}


@of_each
def test_what_a_shell_runs_fails_where_a_command_does(page: Path) -> None:
    """Of ``%%bash`` only the last exit code counts, as in a pipe; ``!`` ignores it."""
    for cell in cells(page):
        assert not re.search(r"^!", cell, flags=re.MULTILINE), cell
        lines = cell.replace("\\\n", " ").splitlines()
        if lines[0] == "%%bash" and len(lines) > 2:
            assert lines[1].startswith("set -e"), cell
        if lines[0] == "%%bash" and " | " in cell:
            assert "pipefail" in lines[1], cell


def test_the_index_names_each_in_its_list_and_its_tree() -> None:
    index = text(FOLDER / "index.md")
    for page in PAGES:
        assert f"]({page.name}): " in index
        assert re.search(rf"^{page.stem}$", index, flags=re.MULTILINE)


def test_pieces_of_a_stream_are_one_plain_text() -> None:
    pieces = [("stdout", "a\n  b"), ("stderr", "!"), ("stdout", "c \x1b[1mbold\x1b[0m\n"), ("stdout", "\n d\n")]
    outputs = [NotebookNode(output_type="stream", name=name, text=piece) for name, piece in pieces]
    outputs.insert(2, NotebookNode(output_type="display_data", data={}, metadata={}))
    made = joined(outputs)
    assert [output["output_type"] for output in made] == ["stream", "stream", "display_data"]
    assert [output["text"] for output in made[:2]] == ["a\n  bc bold\n\n d\n", "!\n"]

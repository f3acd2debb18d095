"""Cells of tutorials that write a file are read in the language of the file."""

from __future__ import annotations

import pytest
from cells import CellLexer
from pygments.token import Error, Name, Operator


@pytest.mark.parametrize(
    ("name", "text", "token"),
    [
        ("conf/ranker/a.yaml", "_target_: a.A\nseen: ${seen} # keep\n", (Name.Tag, "seen")),
        ("pyproject.toml", '[project]\nname = "a"\n', (Name, "name")),
        ("a.py", "class A:\n    hours = 1\n", (Name.Class, "A")),
    ],
)
def test_a_file_is_read_in_its_language(name: str, text: str, token: tuple[object, str]) -> None:
    tokens = list(CellLexer().get_tokens(f"%%writefile {name}\n{text}"))
    assert token in tokens
    assert (Operator, "%%writefile") in tokens or name.endswith(".py")
    assert not [value for kind, value in tokens if kind is Error]


def test_other_cells_are_read_as_before() -> None:
    tokens = list(CellLexer().get_tokens("%%bash\npython -m recx list\n"))
    assert "bash" in {value for _, value in tokens}
    assert (Name.Class, "A") in CellLexer().get_tokens("class A: ...\n")

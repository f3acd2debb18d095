"""The colours of cells of tutorials that write a file (``%%writefile NAME``): those of its language, by its ending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ipython_pygments_lexers import IPython3Lexer
from pygments.lexer import bygroups, using
from pygments.lexers.configs import TOMLLexer
from pygments.lexers.data import YamlLexer
from pygments.token import Operator, Text

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LANGUAGES = {"yaml": YamlLexer, "toml": TOMLLexer}


def setup(app: Sphinx) -> dict[str, Any]:
    """Have Sphinx read cells of tutorials by ``CellLexer``."""
    app.add_lexer("ipython3", CellLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class CellLexer(IPython3Lexer):  # type: ignore[misc]
    """IPython's, which takes every other file for Python and would warn of what it cannot read."""

    tokens = {
        **IPython3Lexer.tokens,
        "root": [
            (rf"(?s)(\s*)(%%writefile)([^\n]*\.{ending}\n)(.*)", bygroups(Text, Operator, Text, using(lexer)))
            for ending, lexer in LANGUAGES.items()
        ]
        + IPython3Lexer.tokens["root"],
    }

"""What ``dir(recx)`` and ``help(recx)`` show is what people use."""

from __future__ import annotations

import pydoc
import re

import recx


def test_dir_shows_the_public_names_alone() -> None:
    assert dir(recx) == sorted([*recx.__all__, "__version__"])
    assert all(hasattr(recx, name) for name in dir(recx))


def test_help_describes_the_public_names() -> None:
    text = pydoc.plain(pydoc.render_doc(recx))
    assert text.index("recx.run([") < text.index("CLASSES")
    functions = text.partition("\nFUNCTIONS\n")[2]
    for name in recx.__all__:
        assert name in text
    assert re.search(r"^    run\(\s*overrides", functions, flags=re.MULTILINE)
    assert "_project_flags" not in text

"""The pages of the reference that are made from the code: each module of ``reference_pages`` makes one or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference_pages import PAGES

if TYPE_CHECKING:
    from sphinx.application import Sphinx

REFERENCE = Path(__file__).resolve().parents[1] / "reference"


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for pages."""
    app.connect("builder-inited", lambda _: write(REFERENCE))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(folder: Path) -> None:
    """Write every page into a folder, and leave one untouched that is as it was."""
    for make in PAGES:
        for name, text in make().items():
            target = folder / f"{name}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_file() or target.read_text(encoding="utf-8") != text:
                target.write_text(text, encoding="utf-8")

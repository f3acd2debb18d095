"""The pages of the reference that are made from the code: each module of ``reference_pages`` makes one or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference_pages import PAGES
from repository import write

if TYPE_CHECKING:
    from sphinx.application import Sphinx

REFERENCE = Path(__file__).resolve().parents[1] / "reference"


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for pages."""
    app.connect("builder-inited", lambda _: write_all(REFERENCE))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_all(folder: Path) -> None:
    """Write every page into a folder."""
    for make in PAGES:
        for name, text in make().items():
            write(folder / f"{name}.md", text)

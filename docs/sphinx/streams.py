"""What a cell of a tutorial prints: in pieces, after each of which MyST-NB would end a line, and in colours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from myst_nb.core import render
from myst_nb.core.utils import coalesce_streams

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What colours a terminal: kernels ask the programs that they start for it."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Have MyST-NB join the outputs of a cell by ``joined``."""
    if render.coalesce_streams is not coalesce_streams:
        raise RuntimeError("MyST-NB joins the outputs of a cell elsewhere than in its module render: see streams.py")
    render.coalesce_streams = joined
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def joined(outputs: list[Any]) -> list[Any]:
    """Return the outputs of a cell with one plain stream of each name, where the first piece of it stood."""
    text: dict[str, str] = {}
    for output in outputs:
        if output["output_type"] == "stream":
            text[output["name"]] = text.get(output["name"], "") + output["text"]
    kept: list[Any] = []
    for output in outputs:
        if output["output_type"] != "stream":
            kept.append(output)
        elif output["name"] in text:
            output["text"] = ESCAPE.sub("", text.pop(output["name"]))
            kept.append(output)
    whole: list[Any] = coalesce_streams(kept)
    return whole

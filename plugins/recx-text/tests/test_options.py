"""The option files say what the settings' defaults are, and looking at them brings no torch."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest
from recx_text.encoder import SentenceTransformer
from recx_text.ranker import CrossEncoder

from recx.compose import compose, plain

SHARED = {"cache": "outputs/cache/embeddings"}


@pytest.mark.parametrize(
    ("group", "option", "kind"),
    [("encoder", "sentence_transformer", SentenceTransformer), ("ranker", "cross_encoder", CrossEncoder)],
)
def test_the_option_has_every_setting_with_its_default(group: str, option: str, kind: type) -> None:
    written = dict(plain(compose([f"{group}={option}"]))[group])
    assert written.pop("_target_") == f"{kind.__module__}.{kind.__name__}"
    assert written == {field.name: SHARED.get(field.name, field.default) for field in fields(kind)}


def test_listing_the_options_imports_no_torch() -> None:
    script = (
        "import sys; sys.argv = ['recx', 'list', 'ranker']\n"
        "from recx.cli import main\n"
        "code = main(); print(code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "cross_encoder" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 False"

"""The option files say what the settings' defaults are, and looking at them brings no torch."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

from recx_transformer.retriever import Transformer

from recx.compose import compose, plain

SHARED = {"seed": 0, "seen": "drop", "checkpoints": "outputs/checkpoints"}


def test_the_option_has_every_setting_with_its_default() -> None:
    written = dict(plain(compose(["retriever=transformer"]))["retriever"])
    assert written.pop("_target_") == "recx_transformer.retriever.Transformer"
    assert set(written) == {field.name for field in fields(Transformer)}
    for field in fields(Transformer):
        value = written[field.name]
        expected = SHARED.get(field.name, field.default)
        assert (tuple(value) if isinstance(value, list) else value) == expected, field.name


def test_the_union_takes_in_the_transformer_and_the_ranker_its_score() -> None:
    config = plain(compose(["+experiment=news_transformer"]))
    assert set(config["retriever"]["sources"]) == {"item_knn", "faiss", "popularity", "transformer"}
    assert {"transformer_score", "transformer_rank", "age"} <= set(config["feature"])


def test_listing_the_options_imports_no_torch() -> None:
    script = (
        "import sys; sys.argv = ['recx', 'list', 'retriever']\n"
        "from recx.cli import main\n"
        "code = main(); print(code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "transformer" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 False"

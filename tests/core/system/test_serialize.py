from __future__ import annotations

import pytest

from recx.core.system.serialize import title


@pytest.mark.parametrize(
    ("retriever", "ranker", "expected"),
    [
        ("recx.parts.retriever.union.Union", "recx.parts.ranker.linear.Linear", "union + linear"),
        ("recx_transformer.retriever.Transformer", "recx_lightgbm.ranker.LambdaMART", "transformer + lambdamart"),
        ("recx.parts.retriever.given.Given", "", "given"),
        ("", "", ""),
        ("odd", "recx.parts.ranker.linear.Linear", "linear"),
    ],
)
def test_a_run_is_known_by_its_parts(retriever: str, ranker: str, expected: str) -> None:
    config = {stage: {"_target_": target} for stage, target in (("retriever", retriever), ("ranker", ranker)) if target}
    assert title(config) == expected


def test_what_names_no_part_has_no_title() -> None:
    assert title({"words": "seed=1"}) == ""

"""Names that MLflow accepts."""

from __future__ import annotations

import pytest

from recx.tracking.mlflow_run import allowed_name


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("end_to_end/ndcg_at_5", "end_to_end/ndcg_at_5"),
        ("ndcg@5", "ndcg_5"),
        ("a//b/", "a/b"),
        ("größe (ms), x=1", "gr__e _ms__ x_1"),
        ("///", "_"),
    ],
)
def test_allowed_names(name: str, allowed: str) -> None:
    assert allowed_name(name) == allowed

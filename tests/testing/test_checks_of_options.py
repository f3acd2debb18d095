from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from recx.testing import check_listing, checks_of_options


@pytest.mark.parametrize(
    ("written", "promise"),
    [
        ({"seed": "${seed}", "seen": "drop"}, None),
        ({"seed": "${oc.env:SEED}", "seen": "${seen}"}, None),
        ({"seed": 1, "seen": "${seen}"}, "seed must be 0, the default"),
        ({"seen": "${seen}"}, "must name the settings seed, seen"),
        ({"seed": 0, "seen": "drop", "sead": 0}, "must name the settings seed, seen"),
    ],
)
def test_an_option_that_is_not_its_part_s_is_caught(
    written: dict[str, object], promise: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    option = OmegaConf.create({"retriever": {"_target_": "recx.parts.retriever.random.Random", **written}})
    monkeypatch.setattr(checks_of_options, "compose", lambda words: option)
    if promise is None:
        checks_of_options.check_option("retriever/random")
    else:
        with pytest.raises(AssertionError, match=promise):
            checks_of_options.check_option("retriever/random")


def test_a_listing_that_imports_a_library_is_caught() -> None:
    check_listing("retriever/item_knn", "mlflow")
    with pytest.raises(AssertionError, match="recx list retriever must not import recx"):
        check_listing("retriever/item_knn", "recx")
    with pytest.raises(AssertionError, match="recx list retriever must show nothing"):
        check_listing("retriever/nothing", "mlflow")

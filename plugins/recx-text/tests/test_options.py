"""The option files list the settings' defaults, and reading them imports no torch."""

from __future__ import annotations

import pytest

from recx.testing import check_listing, check_option


@pytest.mark.parametrize("name", ["encoder/sentence_transformer", "ranker/cross_encoder"])
def test_the_option_has_every_setting_with_its_default(name: str) -> None:
    check_option(name)


def test_listing_the_options_imports_no_torch() -> None:
    for option in ("encoder/sentence_transformer", "ranker/cross_encoder"):
        check_listing(option, "torch")

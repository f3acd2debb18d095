"""The option file lists the settings' defaults, and reading it imports no LightGBM."""

from __future__ import annotations

from recx.testing import check_listing, check_option


def test_the_option_has_every_setting_with_its_default() -> None:
    check_option("ranker/lambdamart")


def test_listing_the_options_imports_no_lightgbm() -> None:
    check_listing("ranker/lambdamart", "lightgbm")

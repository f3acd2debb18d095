"""The option file lists the settings' defaults, and reading it imports no PyTorch."""

from __future__ import annotations

from recx.testing import check_listing, check_option


def test_the_option_has_every_setting_with_its_default() -> None:
    check_option("retriever/lightgcn")


def test_listing_the_options_imports_no_torch() -> None:
    check_listing("retriever/lightgcn", "torch")

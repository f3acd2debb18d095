"""The option files list the settings' defaults, and reading them imports no implicit."""

from __future__ import annotations

import pytest

from recx.testing import check_listing, check_option


@pytest.mark.parametrize("name", ["als", "bpr", "lmf"])
def test_the_option_has_every_setting_with_its_default(name: str) -> None:
    check_option(f"retriever/{name}")


def test_listing_the_options_imports_no_implicit() -> None:
    for option in ("retriever/als", "retriever/bpr", "retriever/lmf"):
        check_listing(option, "implicit")

"""The option files list the settings' defaults, and reading them imports no torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from recx.testing import check_option


@pytest.mark.parametrize("name", ["encoder/sentence_transformer", "ranker/cross_encoder"])
def test_the_option_has_every_setting_with_its_default(name: str) -> None:
    check_option(name)


def test_listing_the_options_imports_no_torch() -> None:
    script = (
        "import runpy, sys; sys.argv = ['recx', 'list', 'ranker']\n"
        "try: runpy.run_module('recx', run_name='__main__')\n"
        "except SystemExit as end: print(end.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "cross_encoder" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 False"

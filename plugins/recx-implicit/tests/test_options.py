"""The option files list the settings' defaults, and reading them imports no implicit."""

from __future__ import annotations

import subprocess
import sys

import pytest

from recx.testing import check_option


@pytest.mark.parametrize("name", ["als", "bpr", "lmf"])
def test_the_option_has_every_setting_with_its_default(name: str) -> None:
    check_option(f"retriever/{name}")


def test_listing_the_options_imports_no_implicit() -> None:
    script = (
        "import runpy, sys; sys.argv = ['recx', 'list', 'retriever']\n"
        "try: runpy.run_module('recx', run_name='__main__')\n"
        "except SystemExit as end: print(end.code, 'implicit' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"als", "bpr", "lmf"} <= set(done.stdout.split())
    assert done.stdout.splitlines()[-1] == "0 False"

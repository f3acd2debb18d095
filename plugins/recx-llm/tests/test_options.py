"""The option file lists the settings' defaults, and reading it imports no client."""

from __future__ import annotations

import subprocess
import sys

from recx.testing import check_option


def test_the_option_has_every_setting_with_its_default() -> None:
    check_option("ranker/llm")


def test_listing_the_options_imports_no_client() -> None:
    script = (
        "import runpy, sys; sys.argv = ['recx', 'list', 'ranker']\n"
        "try: runpy.run_module('recx', run_name='__main__')\n"
        "except SystemExit as end: print(end.code, 'httpx2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "llm" in done.stdout.split()
    assert done.stdout.splitlines()[-1] == "0 False"

"""The table of docs/reproductions.md is what the files of conf/reproduction say was measured."""

from __future__ import annotations

from pathlib import Path

from recx.jobs.reproduce import spec
from recx.jobs.reproduce.output import markdown
from recx.jobs.reproduce.run import Reproduced
from recx.jobs.reproduce.verdict import rows_of

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted(file.stem for file in (ROOT / "conf" / "reproduction").glob("*.yaml"))


def test_the_table_is_made_of_measured_figures() -> None:
    """Written anew by ``python -c`` of what is compared here, where a file has changed."""
    page = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- table -->\n")[2].partition("<!-- /table -->")[0]
    made = markdown([Reproduced(found, rows_of(found)) for found in map(spec.load, OURS)])
    assert shown == made
    for line in shown.splitlines()[2:]:
        *_, measured, verdict = [cell.strip() for cell in line.strip("|").split("|")]
        assert (measured == "–") == (verdict == "not run here")

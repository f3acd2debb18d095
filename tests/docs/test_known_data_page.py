"""The page on well-known data shows of every format the first lines of a file, the command and the published counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_files import MADE, write

from recx.jobs.identified import identified
from recx.parts.dataset.known_files import formats

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "known-data.md").read_text(encoding="utf-8")
ON_OTHER_PAGES = {"news", "tool_selection", "agents", "ebnerd", "otel"}


def section(name: str) -> str:
    """Return what the page says of a format whose files lie in the working directory, in DIR if they are several."""
    known = formats()[name]
    path = write(Path("DIR"), name)
    if path != Path("DIR"):
        path = path.rename(path.name)
    shown = list(MADE[name].items())[: 2 if len(known.folder) > 1 else 1]
    lines = "\n".join(line for file, text in shown for line in (f"{file}:", *text.splitlines()[:2]))
    found = identified([f"dataset.path={path}"])
    assert found is not None
    counts = "".join(
        f"- {one.data}: {', '.join(f'{n:,} {what}' for what, n in one.counts.items())} ([source]({one.source}))\n"
        for one in known.published
    )
    title = known.what[0].upper() + known.what[1:]
    text = f"### {title}\n\n```text\n{lines}\n```\n\n```text\n{found.command}\n```\n"
    return text + (f"\n{counts}" if counts else "")


@pytest.mark.parametrize("name", MADE)
def test_a_format_is_shown_as_it_is_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert section(name) in PAGE


def test_no_format_is_left_out() -> None:
    assert set(formats()) - set(MADE) == ON_OTHER_PAGES

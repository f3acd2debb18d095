"""The index of questions in docs/how-to: each leads to a section that answers it by something that a test runs."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
QUESTION = re.compile(r"^- \[([^]]+)\]\(([\w./-]+\.md)(?:#([\w-]+))?\)$", re.MULTILINE)
FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
PROGRAMS = ("rows-and-ids", "change-metrics", "results", "explain", "troubleshooting", "compare-runs")
"""Pages with whole programs in Python, which begin with an import, and run below."""
RUN_ELSEWHERE = ("frames", "model")
"""Pages whose Python another test of this folder runs."""
WRITTEN = ("own-dataset", "own-part", "own-project")
"""Pages whose Python is what ``new-plugin`` and ``init`` write, by test_commands.py, with tests that others run."""

QUESTIONS = QUESTION.findall((HOW_TO / "index.md").read_text(encoding="utf-8"))


def without_code(text: str) -> str:
    """Return a page with blanks in the place of its code, in which a comment would look like a heading."""
    return FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def slug(title: str) -> str:
    """Return the anchor that the site and Git pages give a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def section(page: str, anchor: str) -> str:
    """Return what stands below a heading of a page, up to the next one that is as high; without an anchor the page."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    if not anchor:
        return text
    headings = [(found.start(), len(found[1]), slug(found[2])) for found in HEADING.finditer(without_code(text))]
    [(start, level)] = [(start, level) for start, level, name in headings if name == anchor]
    ends = [other for other, above, _ in headings if other > start and above <= level]
    return text[start : min(ends, default=len(text))]


def is_run(page: str, text: str) -> bool:
    """Return whether a test runs something of a page's text: a command (test_commands.py) or its Python."""
    found = FENCE.findall(text)
    name = Path(page).stem
    start = {"": re.compile("^python -m recx ", re.MULTILINE)}
    if name in (*RUN_ELSEWHERE, *WRITTEN):
        start["python"] = re.compile("")
    elif name in PROGRAMS:
        start["python"] = re.compile(r"\Aimport ")
    return any(language in start and start[language].search(code) for language, code in found)


def test_there_are_many_questions() -> None:
    assert len(QUESTIONS) >= 40
    assert [asked for asked, times in Counter(text for text, _, _ in QUESTIONS).items() if times > 1] == []


@pytest.mark.parametrize(("page", "anchor"), [place for _, *place in QUESTIONS], ids=[text for text, *_ in QUESTIONS])
def test_every_question_is_answered_by_something_that_a_test_runs(page: str, anchor: str) -> None:
    assert is_run(page, section(page, anchor))


def test_an_answer_without_a_command_is_found() -> None:
    assert not is_run("serve.md", "## How?\n\n```sh\npython -m recx serve\n```\n\n```python\nimport recx\n```\n")
    assert is_run("serve.md", "## How?\n\n```\npython -m recx serve\n```\n")
    with pytest.raises(ValueError, match="not enough values"):
        section("change-metrics.md", "no-such-heading")


def test_a_heading_ends_a_section_and_a_comment_in_code_does_not() -> None:
    assert "resume=last" in section("resume.md", "a-sweep")
    assert "study" not in section("resume.md", "a-sweep")
    assert section("change-metrics.md", "how-do-i-add-a-metric").count("```") == 2


def test_every_page_stands_in_one_list_of_the_site() -> None:
    trees = [body for language, body in FENCE.findall((HOW_TO / "index.md").read_text(encoding="utf-8")) if language]
    listed = Counter(line for body in trees for line in body.splitlines() if line and not line.startswith(":"))
    pages = {page.stem for page in HOW_TO.glob("*.md")} - {"index"}
    assert listed == dict.fromkeys(pages, 1)


def test_every_page_has_a_question() -> None:
    asked = {Path(page).stem for _, page, _ in QUESTIONS}
    assert {page.stem for page in HOW_TO.glob("*.md")} - {"index"} <= asked


def write_small_data(folder: Path) -> None:
    """Write the files that the programs read: a log, the same with zeros before the ids, and the users' countries."""
    rng = np.random.default_rng(0)
    log = pd.DataFrame({"uid": np.repeat(np.arange(40), 6), "sku": rng.integers(0, 25, 240)})
    log = log.assign(ts=1_700_000_000 + 60 * np.arange(240)).drop_duplicates(["uid", "sku"])
    log.to_parquet(folder / "log.parquet")
    log = log.assign(uid=log["uid"].map("{:04}".format), sku=log["sku"].map("{:04}".format))
    log.to_csv(folder / "zeros.csv", index=False)
    pd.DataFrame({"uid": range(40), "country": ["de", "fr"] * 20}).to_csv(folder / "people.csv", index=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", PROGRAMS)
def test_the_programs_of_a_page_run(page: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_small_data(here)
    found = FENCE.findall((HOW_TO / f"{page}.md").read_text(encoding="utf-8"))
    programs = [code for language, code in found if language == "python" and code.startswith("import ")]
    assert programs
    for program in programs:
        names: dict[str, Any] = {}
        exec(program, names)  # each for itself
        shown = re.findall(r"print\(.*\)  # (\S*\d\S*.*)$", program, re.MULTILINE)  # what the page says is printed
        printed = capsys.readouterr().out
        assert all(text in printed for text in shown), printed

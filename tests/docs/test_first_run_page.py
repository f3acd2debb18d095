"""docs/start/first-run.md and the picture of the home page show what the first run prints."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from recx.cli import main as cli

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "start" / "first-run.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"[+-]?\d+\.\d+")
CLOSE = 0.005
"""Processors round differently, and the ranker's optimum moves by so little."""


def shown(name: str) -> list[str]:
    """Return the lines of the output below the comment of this name."""
    found = re.search(rf"^<!-- {name} -->\n```text\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1].splitlines()


def figures(lines: list[str]) -> dict[str, list[float]]:
    """Return section and name of each line -> its numbers."""
    section, found = "", {}
    for line in lines:
        if not line.startswith("  "):
            section = line[:12].strip()
        elif NUMBER.search(line):
            found[f"{section}/{line[:24].strip()}"] = [float(number) for number in NUMBER.findall(line[24:])]
    return found


def test_the_picture_shows_the_figures_of_the_page() -> None:
    svg = (DOCS / "pictures" / "summary.svg").read_text(encoding="utf-8")
    texts = [html.unescape(text).replace("\xa0", " ") for text in re.findall(r"<text [^>]*>(.*?)</text>", svg)]
    rows = [number for text in texts[1:] for number in NUMBER.findall(text)]
    assert rows == [number for line in shown("figures") for number in NUMBER.findall(line)]
    assert len(rows) == 40
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "").replace("https://www.textualize.io", "")


def test_what_the_page_says_of_its_figures_follows_from_them() -> None:
    of = figures(shown("figures"))
    hit, lost, missed = of["end to end/hit"][0], of["funnel/lost in retrieval"][0], of["funnel/lost in ranking"][0]
    ranked, lift, recall = of["ranking/hit"][0], of["funnel/lift ndcg"][0], of["retrieval/recall"][2]
    assert hit == pytest.approx((1 - lost) * ranked, abs=1e-4)
    assert hit + lost + missed == pytest.approx(1, abs=1.5e-4)
    assert lift == pytest.approx(of["end to end/ndcg"][0] - figures(shown("second"))["end to end/ndcg"][0], abs=1.5e-4)
    told = PAGE.partition("A line is a metric")[2].partition("```")[0]
    shares = [f"{100 * share:.1f} %" for share in (recall, 1 - lost, ranked, hit, lost, missed)]
    assert all(share in told for share in shares), shares
    assert re.findall(r"(\d\.\d{4}) of NDCG@5", told) == [f"{lift:.4f}"]


def test_what_the_page_says_of_the_comparison_stands_in_its_output() -> None:
    said = PAGE.partition("The linear ranker gains")[2].partition("\n\n")[0]
    [row] = [line for line in shown("compare") if "win/tie" not in line and "/" in line and "_  " in line]
    numbers = NUMBER.findall(row)
    assert NUMBER.findall(said)[:3] == [number.lstrip("+") for number in numbers[:3]]
    wins, _, losses = re.findall(r"(\d+)/(\d+)/(\d+)", row)[0]
    assert f"better for {wins} readers, worse for {losses}" in said


@pytest.mark.slow
def test_the_first_two_runs_print_what_the_page_shows(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for words, name in ([], "figures"), (["ranker=identity"], "second"):
        monkeypatch.setattr("sys.argv", ["recx", "+experiment=news", *words])
        assert cli.main() == 0
        out = capfd.readouterr().out
        printed = figures(out.partition("learned weights")[0].splitlines())
        for line, numbers in figures(shown(name)).items():
            assert printed[line][: len(numbers)] == pytest.approx(numbers, abs=CLOSE), line
        for count in (line.split() for line in shown("counts")[1:] if "…" not in line):
            assert re.search(rf"  {' '.join(count[:-1])} +{count[-1]}\b", out), count
    assert list(here.glob("outputs/2*/*_news/report.html"))

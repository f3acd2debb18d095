"""The page: self-contained, safe whatever the data contains, and accessible."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import recx
from recx.core.nouns import Nouns
from recx.report.page import write
from recx.report.page.render import cached, figure, render
from recx.report.page.section_figures import pivot

EVIL = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "{{ 7 * 7 }}",
    "新闻 推荐",
    "خبر عاجل",
    "]]>-->&amp;",
]


@pytest.fixture(scope="module")
def pages(folders: dict[str, Path]) -> dict[str, str]:
    return {name: (folder / "report.html").read_text(encoding="utf-8") for name, folder in folders.items()}


@pytest.mark.parametrize("name", ["linear", "identity", "predict"])
def test_no_request_leaves_the_page(pages: dict[str, str], reader: Any, name: str) -> None:
    read = reader(pages[name])
    for tag, attributes in read.elements:
        assert not [key for key in attributes if key.startswith("on") or key == "style"], (tag, attributes)
        for key in ("src", "href", "action", "srcset", "poster", "data"):
            link = attributes.get(key) or "#"
            assert link.startswith("#") or ((tag, key) == ("link", "href") and link.startswith("data:")), (tag, link)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", pages[name])
    assert not {"iframe", "img", "object", "embed", "base"} & set(read.names())
    assert len(pages[name].encode()) < 5_000_000


def test_the_policy_allows_only_what_the_page_contains(pages: dict[str, str], reader: Any) -> None:
    read = reader(pages["linear"])
    [policy] = [
        attributes["content"]
        for _, attributes in read.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'")
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        text = "".join(read.inside(tag))
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy
        assert read.names().count(tag) == 1


@pytest.mark.parametrize("name", ["linear", "identity", "predict"])
def test_the_structure_is_accessible(pages: dict[str, str], reader: Any, name: str) -> None:
    read = reader(pages[name])
    levels = [int(tag[1]) for tag in read.names() if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    names = read.names()
    assert [names.count(tag) for tag in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for _, attributes in read.elements:
        for key in ("aria-labelledby", "aria-describedby", "href"):
            value = attributes.get(key) or ""
            if key != "href" or value.startswith("#"):
                assert set(value.removeprefix("#").split()) <= set(ids)
    scrolls = [attributes for _, attributes in read.elements if attributes.get("class") == "scroll"]
    assert scrolls
    assert all(one["tabindex"] == "0" and one["role"] == "region" for one in scrolls)
    assert next(tag for tag, attributes in read.elements if attributes.get("class") == "skip") == "a"


def test_sections_are_in_order_and_none_is_empty(pages: dict[str, str], reader: Any) -> None:
    def sections(name: str) -> list[str]:
        return [attributes["id"] for tag, attributes in reader(pages[name]).elements if tag == "section"]

    assert sections("linear") == ["answer", "figures", "slices", "learned", "examples", "run"]
    assert sections("identity") == ["answer", "figures", "slices", "examples", "run"]
    assert sections("predict") == ["answer", "learned", "examples", "run"]
    assert "This run predicted (fold=predict)" in reader(pages["predict"]).text()
    assert "The ranker changes nothing" in reader(pages["identity"]).text()


def test_the_page_shows_the_figures(pages: dict[str, str], reader: Any, folders: dict[str, Path]) -> None:
    page, text = write.read(folders["linear"]), reader(pages["linear"]).text()
    for row in page["metrics"]:
        assert figure(row["value"], "+" if row["metric"].startswith("lift") else "") in text
    for row in page["examples"]["rows"]:
        assert row["user"] in text
    for finding in page["doctor"]:
        assert Nouns(**page["nouns"]).say(finding["name"].replace("_", " ")) in text


def test_the_page_speaks_the_words_of_its_world(folders: dict[str, Path], reader: Any) -> None:
    page = write.read(folders["linear"])
    page["nouns"] = vars(Nouns("task", "tasks", "tool", "tools"))
    text = reader(render(page)).text()
    assert "Groups of tasks" in text
    assert "do tasks get the right tools?" in text
    assert "readers have a target" not in text


@pytest.fixture(scope="module")
def of_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small run on tasks, some of which no tool answers."""
    home = tmp_path_factory.mktemp("tools")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        recx.run(["+experiment=tools_abstain", "dataset.tasks=300", "dataset.tools=20", "hydra.run.dir=run"])
    return home / "run"


def test_a_page_of_tools_shows_which_are_confused_and_the_risk(of_tools: Path, reader: Any) -> None:
    page, html = write.read(of_tools), (of_tools / "report.html").read_text(encoding="utf-8")
    table = pd.read_csv(of_tools / "tables" / "confused_items.csv")
    assert [(row["right"], row["first"], row["times"]) for row in page["confused"]["rows"]] == [
        *zip(table["right"], table["first"], table["times"], strict=True)
    ]
    text = reader(html).text()
    assert "Confused tools" in text
    assert "which tool is put first instead of the right one" in text.lower()
    assert "confused_items" not in page["learnt"]["tables"]
    assert page["learnt"]["tables"]["risk_coverage"]["rows"][-1]["coverage"] == 1
    assert (of_tools / "figures" / "risk_coverage.svg").is_file()
    [logged] = (of_tools.parent / "outputs").glob("mlflow-artifacts/**/confused_items.json")
    assert json.loads(logged.read_text())["columns"] == table.columns.tolist()


@pytest.mark.parametrize("run", ["tools", "agents", "documents"])
def test_no_sentence_of_a_page_speaks_of_users_or_items_that_have_names(
    run: str, of_tools: Path, reader: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the data, the settings and the protocol card say is quoted as it is."""
    folder = of_tools if run == "tools" else tmp_path / "run"
    if run != "tools":
        monkeypatch.chdir(tmp_path)
        words = {
            "agents": ["+experiment=agents", "dataset.traces=40", "dataset.n_candidates=5"],
            "documents": ["+experiment=rerank", "dataset.queries=60", "dataset.features=6"],
        }
        recx.run([*words[run], "tracker=console", "hydra.run.dir=run"])
    html = (folder / "report.html").read_text(encoding="utf-8")
    html = html[: html.index("<summary>Protocol card")] + html[html.index("<footer") :]
    shown = re.sub(r"<(style|script)>.*?</\1>|<code.*?</code>", "", html, flags=re.DOTALL)
    said = [*re.findall(r'(?:title|placeholder|aria-label|content)="([^"]*)"', shown), *re.split(r"<[^>]*>", shown)]
    found = [
        text.strip() for text in said if re.search(r"(?<![\w.])(users?|items?)(?![\w=]|\.\w)", text, re.IGNORECASE)
    ]
    assert found == []
    nouns = write.read(folder)["nouns"]
    assert nouns["users"] in shown
    assert nouns["items"] in shown


def test_the_headline_stands_beside_simple_lists_the_earlier_best_and_its_cautions(
    folders: dict[str, Path], reader: Any
) -> None:
    page = write.read(folders["linear"])
    name = page["answer"]["headline"][0]["name"]
    page["references"] = {"popularity": {name: 0.0123}, "random": {name: 0.0045}, "users": 7}
    assert "Random: what may be recommended" not in reader(render(page)).text()
    alone = reader(render({**page, "references": {**page["references"], "popularity": {}}})).text()
    assert "Random: what may be recommended, in a random order, over 7 drawn of" in alone
    page["earlier"] = {"value": page["answer"]["headline"][0]["value"] - 0.25, "about": "ease", "folder": "day/run"}
    page["doctor"][0] |= {"name": "odd_times", "verdict": "look", "why": "the log invented them"}
    page["unsure"] = ["few users"]
    text = reader(render(page)).text()
    for words in (
        "popularity 0.0123",
        "random 0.0045",
        "over 7 drawn of",
        "ease",
        "+0.2500 in this one",
        "compare day/run",
    ):
        assert words in text
    summary = text[text.index("Summary") : text.index("Where hits are lost")]
    assert "look odd times" in summary
    assert "few readers" in summary


def test_the_figures_are_one_row_per_metric(folders: dict[str, Path]) -> None:
    table = pivot(write.read(folders["linear"])["metrics"])
    assert table["cuts"] == [5, 10, 20, 50, None]
    assert [of["stage"] for of in table["stages"]] == ["retrieval", "ranking", "end_to_end", "funnel"]
    recall = table["stages"][0]["metrics"][0]
    assert (recall["metric"], [row and row["k"] for row in recall["rows"]]) == ("recall", [None, 10, 20, 50, None])
    assert table["stages"][1]["share"] < 1 == table["stages"][2]["share"]


def test_text_from_the_data_is_escaped(here: Path, reader: Any) -> None:
    rows = [
        (f"{EVIL[user % len(EVIL)]}{user}", f"{EVIL[(user + step) % len(EVIL)]}{(user + step) % 12}", step)
        for user in range(40)
        for step in range(5)
    ]
    pd.DataFrame(rows, columns=["who", "what", "when"]).to_csv("evil.csv", index=False)
    words = ["+experiment=table", "dataset.path=evil.csv", "dataset.user=who", "dataset.item=what", "dataset.time=when"]
    recx.run([*words, "tracker=console", "cache=off", "n_candidates=10", "name=evil"])
    [file] = here.glob("outputs/*/*_evil/report.html")
    text = file.read_text(encoding="utf-8")
    read = reader(text)
    assert read.names().count("script") == 1
    assert not {"img"} & set(read.names())
    assert not [key for _, attributes in read.elements for key in attributes if key.startswith("on")]
    shown = read.text()
    for words_of_data in EVIL:
        assert words_of_data in shown
    marked = [attributes for tag, attributes in read.elements if tag == "bdi"]
    assert marked
    assert all(attributes["dir"] == "auto" for attributes in marked)


def test_names_of_figures_and_tables_are_escaped_too(folders: dict[str, Path], reader: Any) -> None:
    evil = EVIL[0]
    page = write.read(folders["linear"])
    page |= {"name": evil, "about": evil, "folder": evil, "advice": [evil]}
    page["run"] |= {
        "words": [evil],
        "config": {evil: evil},
        "protocol": {evil: evil},
        "git": {"commit": evil, "dirty": "true"},
    }
    page["learnt"]["weights"][0]["feature"] = evil
    page["learnt"]["features"][0]["feature"] = evil
    page["learnt"]["training"] = {evil: [1.0, None, 2.0]}
    page["learnt"]["tables"] = {evil: {"of": 1, "rows": [{evil: evil, "x": None, "n": 3}]}}
    page["slices"][0] |= {"title": evil, "name": evil}
    page["slices"][0]["groups"][0]["label"] = evil
    page["metrics"][0] |= {"metric": evil, "meaning": f'"{evil}', "value": None, "low": None}
    page["doctor"][0] |= {"name": evil, "why": evil, "verdict": "bad"}
    read = reader(render(page))
    assert read.names().count("script") == 1
    assert read.text().count("alert(1)") >= 12


def test_curves_and_tables_of_the_evaluator_are_drawn(folders: dict[str, Path], reader: Any) -> None:
    page = write.read(folders["linear"])
    tables = {
        "roc_curve": [
            {"threshold": None, "false_positive_rate": 0.0, "true_positive_rate": 0.0},
            {"threshold": 0.5, "false_positive_rate": 1.0, "true_positive_rate": 1.0},
        ],
        "confusion_matrix": [{"actual": a, "predicted": p, "rows": 10 * a + p + 1} for a in (0, 1) for p in (0, 1)],
        "reliability_after": [
            {"low": 0.0, "high": 0.5, "rows": 3, "mean_predicted": 0.2, "observed": 0.1},
            {"low": 0.5, "high": 1.0, "rows": 0, "mean_predicted": None, "observed": None},
        ],
        "cascade": [{"rank": 1, "stops_here": 0.5, "stops_until": 0.5}],
        "classification": [{"class": "macro", "precision": 0.25, "recall": None, "f": 0.1, "support": 12}],
        "nothing": [],
    }
    page["learnt"]["tables"] = {name: {"of": len(rows), "rows": rows} for name, rows in tables.items()}
    page["learnt"]["tables"]["classification"]["of"] = 700
    text = reader(render(page)).text()
    for words in (
        "ROC curve",
        "Rows by actual and predicted class",
        "Observed share",
        "Probability that a user stops",
        "macro",
        "0.2500",
        "Classification: 1 of 700 rows",
    ):
        assert words in text


def test_only_the_strongest_weights_are_drawn_but_the_table_has_all(folders: dict[str, Path], reader: Any) -> None:
    page = write.read(folders["linear"])
    page["learnt"]["weights"] = [{"feature": f"f{n}", "weight": 9 - n / 100, "low": 0, "high": 9} for n in range(300)]
    read = reader(render(page))
    assert "the strongest 40 of 300" in read.text()
    drawn = [words for words in read.inside("text") if re.fullmatch(r"f\d+", words)]
    assert drawn == [f"f{n}" for n in range(40)]
    assert {f"f{n}" for n in range(300)} <= set(read.inside("th"))


@pytest.mark.parametrize(("hits", "shown"), [(None, "–"), (0, "no"), (1, "1 of 2"), (2, "yes")])
def test_a_stage_shows_how_many_of_its_passes_were_cached(hits: int | None, shown: str) -> None:
    assert cached({"cached": hits, "passes": 2}) == shown

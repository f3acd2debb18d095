"""The pages of options lack no option, no setting and no description, and say what the code says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from reference_pages import classes, mentions, options
from reference_pages.markdown import docstring, prose, table
from reference_pages.option_files import PRESETS, Option, settings_of
from reference_pages.option_files import options as all_options

from recx.config import option_sources
from recx.config.compose import Schema
from recx.core.bounds import hints_of, type_text

ROOT = Path(__file__).resolve().parents[2]
PARTS = [name for name, one in all_options().items() if one.group not in (*PRESETS, "feature")]
"""Every option of a part with settings; those of ``feature`` are on the page of features."""


@cache
def pages() -> Mapping[str, str]:
    return options.pages()


def section(page: str, name: str) -> str:
    """Return the section of an option, "" if the page lacks it."""
    found = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def rows(text: str) -> dict[str, list[str]]:
    """Return the rows of the tables of a section: the code in the first cell -> all cells."""
    lines = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in text.splitlines() if line.startswith("| `")]
    return {cells[0].strip("`"): [cell.replace("\\|", "|") for cell in cells] for cells in lines}


def keys(content: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """Yield the paths of all settings of an option file, as plain YAML has them."""
    for key, value in content.items():
        if isinstance(value, dict) and value and not within and key == "defaults":
            continue
        yield from keys(value, f"{within}{key}.") if isinstance(value, dict) and value else [f"{within}{key}"]


def lacking(option: Option, text: str) -> set[str]:
    """Return the settings of an option that the text of its section lacks, or has without saying what they mean."""
    content = option.content[option.name] if option.group == "filter" else option.content
    shown = rows(text)
    said = {key for key, cells in shown.items() if len(cells) == 4 and cells[3].strip()}
    wanted = {key for key in keys(content) if key not in ("_target_", "defaults")}
    return {key for key in wanted if not any(key == one or key.startswith(f"{one}.") for one in said)}


def test_every_option_of_recx_and_of_every_plugin_has_a_section() -> None:
    known = {name for name in option_sources.options() if "/" in name}
    assert known <= all_options().keys()
    for name, option in all_options().items():
        if option.group != "feature":
            page = pages()[f"options/{options.page_of(option.group)}"]
            assert section(page, option.name), name
            assert f"[`{option.name}`](#{option.name})" in page
    assert {one.group for one in all_options().values()} == {*options.GROUPS, "feature"}


def test_what_the_plugins_bring_is_what_recx_says_that_they_bring() -> None:
    brought: dict[str, list[str]] = {}
    for name, option in all_options().items():
        if option.package != "recx":
            brought.setdefault(option.package, []).append(name)
    assert {name: sorted(of) for name, of in brought.items()} == {
        name: sorted(of) for name, of in option_sources.PLUGINS.items()
    }


@pytest.mark.parametrize("name", PARTS)
def test_every_setting_is_there_with_what_it_means(name: str) -> None:
    option = all_options()[name]
    text = section(pages()[f"options/{options.page_of(option.group)}"], option.name)
    assert lacking(option, text) == set()
    assert option.description in ("", option.description.strip())
    assert len(text.strip().splitlines()[0]) > 10


def test_a_setting_that_is_left_out_or_unexplained_is_found() -> None:
    option = all_options()["retriever/item_knn"]
    text = section(pages()["options/retriever"], "item_knn")
    without = "\n".join(line for line in text.splitlines() if not line.startswith("| `shrink`"))
    assert lacking(option, without) == {"shrink"}
    said = rows(text)["shrink"][3]
    assert said
    assert lacking(option, text.replace(said, "")) == {"shrink"}
    assert lacking(option, "") == {one.key for one in option.settings}


def test_every_setting_of_a_class_is_in_the_option_or_in_the_one_that_it_starts_from() -> None:
    for name in PARTS:
        option = all_options()[name]
        if option.target.startswith("recx.") and classes.described(option.target).allowed:
            kind = vars(import_module(option.target.rpartition(".")[0]))[option.target.rpartition(".")[2]]
            if not is_dataclass(kind):  # sweepers are plain classes of Hydra
                continue
            settings = {field.name for field in fields(kind) if field.init and not field.name.startswith("_")}
            given = (
                {one.key.partition(".")[0] for one in option.settings}
                | set(option.inherited)
                | {key.partition(".")[0] for key in option.others}
            )
            given |= {
                key.partition(".")[0] for base in option.bases for key in all_options()[f"{option.group}/{base}"].others
            }
            assert settings <= {key.partition(".")[0] for key in given}, name


@pytest.mark.parametrize(
    ("page", "name", "key", "cells"),
    [
        ("retriever", "item_knn", "neighbours", ["`200`", "a whole number (1 or more)", "items kept for each item"]),
        (
            "retriever",
            "bert4rec",
            "factors",
            ["`64`", "a whole number (1 or more)", "width"],
        ),
        (
            "retriever",
            "union_news_transformer",
            "sources.transformer.validation_users",
            [
                "`0`",
                "a whole number (0 or more)",
                "all epochs, at the end of which the learning rate is 0: the networks of past and fold are alike",
            ],
        ),
        ("filter", "k_core", "users", ["`5`", "a whole number (0 or more)", "events that a user needs; 0: any"]),
        (
            "dataset",
            "yoochoose_buys",
            "header",
            ["`false`", "true or false", "whether the first line names the columns; false: they are numbered from 0"],
        ),
        (
            "evaluator",
            "default",
            "negatives_seed",
            [
                "`0`",
                "a whole number (0 or more and at most 4294967295)",
                "The seed of these draws, whatever the run's: the same in all runs that are compared.",
            ],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rows(page: str, name: str, key: str, cells: list[str]) -> None:
    assert rows(section(pages()[f"options/{page}"], name))[key][1:] == cells


def test_what_an_option_takes_from_others_is_said() -> None:
    text = section(pages()["options/dataset"], "lightgcn")
    assert "Starts from [`sequences`](#sequences). Of it stay as they are: `path`" in text
    assert list(rows(text)) == ["order"]
    text = section(pages()["options/retriever"], "union_news")
    assert "Under `sources.faiss` stand the settings of [`retriever=faiss`](#faiss)." in text
    text = section(pages()["options/benchmark"], "rerank")
    assert "Under `rankers.lambdamart` stand the settings of [`ranker=lambdamart`](ranker.md#lambdamart)." in text


def test_the_keys_of_a_run_are_there() -> None:
    shown = {key for key, *_ in options.top_level()}
    of_groups = set(options.GROUPS) | {"feature"}
    wanted = {field.name for field in fields(Schema)} - of_groups - {"runtime"}
    assert wanted <= shown
    assert "runtime.threads" in shown
    assert [key for key, _, _, text in options.top_level() if not text] == []
    row = next(row for row in options.top_level() if row[0] == "n_candidates")
    assert row[1:3] == ("100", "a whole number (1 or more)")


def test_what_a_run_has_by_default_is_linked() -> None:
    index = pages()["options/index"]
    assert "| `retriever` | [`union_news`](retriever.md#union_news) |" in index
    assert "| `hydra/sweeper` | [`grid`](sweeper.md#grid) |" in index
    assert "| `filter` | none |" in index


def test_links_lead_to_sections() -> None:
    found = 0
    for name, text in pages().items():
        for page, anchor in re.findall(r"\]\((?:([a-z_]+)\.md)?#(\w+)\)", text):
            assert section(pages()[f"options/{page}" if page else name], anchor), (name, page, anchor)
            found += 1
    assert found > 200


def test_pages_that_show_an_option() -> None:
    page = "reference/options/filter.md"
    [link] = [link for link in mentions.pages_with("filter", "k_core", page) if "splits-and-filters" in link]
    assert (
        link
        == "[How do I choose a split, and use my own split, filters and lists?](../../how-to/splits-and-filters.md)"
    )
    assert mentions.pages_with("filter", "core", page) == []
    assert mentions.pages_with("study", "example", "reference/options/study.md")


@pytest.mark.parametrize(
    ("package", "target"),
    [("recx-bridges", "recx_bridges.retriever.Bridge"), ("recx-llm", "recx_llm.ranker.Llm")],
    ids=["bridges", "llm"],
)
def test_a_class_that_is_read_is_as_the_class_that_is_imported(
    package: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, name = target.rpartition(".")
    if package == "recx-llm":
        pytest.importorskip("httpx2", reason="recx-llm's own libraries come with it")
    monkeypatch.syspath_prepend(ROOT / "plugins" / package)
    before = set(sys.modules)
    kind = vars(import_module(module))[name]
    read = classes.described(target)
    for field in fields(kind):
        assert read.allowed[field.name] == type_text(hints_of(kind)[field.name]), field.name
    assert read.text == classes.paragraphs(kind.__doc__)
    assert read.text
    for other in set(sys.modules) - before:  # another test asks whether they were imported
        if other.split(".")[0] == module.split(".")[0]:
            del sys.modules[other]


def test_plugins_are_read_as_they_are_written() -> None:
    assert classes.described("recx_text.ranker.CrossEncoder").allowed["loss"] == "one of listwise, pairwise"
    mask = classes.described("recx_transformer.retriever.BERT4Rec")
    assert mask.allowed["mask_prob"] == "a number (above 0 and below 1)"
    assert mask.allowed["heads"] == "a whole number (1 or more)"  # of its base


def test_plugins_are_read_without_their_libraries() -> None:
    code = (
        "import sys; from reference_pages import classes; classes.described('recx_transformer.retriever.BERT4Rec'); "
        "print([name for name in ('recx_transformer.retriever', 'torch') if name in sys.modules])"
    )
    paths = os.pathsep.join([str(ROOT), str(ROOT / "docs" / "sphinx")])
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_comments_of_settings() -> None:
    text = """# all of it
# more of that
a: '#1' # behind
# above
b:
  c: {d: 1, # no comment
      e: 2}
  # deep
  f: [] # last
g: null
"""
    found = settings_of(text)
    assert [(one.key, one.value, one.behind) for one in found] == [
        ("a", "'#1'", "behind"),
        ("b.c", "{d: 1, e: 2}", ""),
        ("b.f", "[]", "last"),
        ("g", "null", ""),
    ]
    assert [one.above for one in found] == ["", "", "deep", ""]


def test_a_comment_behind_a_setting_of_the_base_comes_before_one_above() -> None:
    option = all_options()["retriever/bert4rec"]
    [factors] = [one for one in option.settings if one.key == "factors"]
    assert factors.above == "the published model: items only"
    assert options.meaning(option, "factors") == "width"


def test_a_docstring_says_what_comments_do_not() -> None:
    option = all_options()["retriever/cornac"]
    assert options.meaning(option, "library") == classes.described(option.target).about["library"]
    assert options.meaning(replace(option, content={**option.content, "_target_": "optuna.X"}), "library") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * b [c] <d> $e", r"a \* b \[c\] \<d> \$e"),
        ("``x * y`` and its _target_ of a_b", r"`x * y` and its \_target\_ of a_b"),
        ("see https://a.org/b_c.", "see <https://a.org/b_c>."),
        ("two\n    lines", "two lines"),
    ],
    ids=["marks", "code", "address", "lines"],
)
def test_prose(text: str, expected: str) -> None:
    assert prose(text) == expected


def test_docstrings() -> None:
    assert docstring("    a = b\n      + c") == "```text\na = b\n  + c\n```\n"
    assert docstring("- one\n  more\n- two") == "- one more\n- two\n"
    assert classes.paragraphs("First.\n\n    Second\n    more.\n\n    Attributes:\n        a: b\n") == (
        "First.",
        "Second\nmore.",
    )
    assert classes.attributes("X.\n\n    Attributes:\n        a: b\n            c\n        d: e: f\n") == {
        "a": "b c",
        "d": "e: f",
    }
    assert table(("a", "b"), [("x|y", "z")]) == "| a | b |\n| --- | --- |\n| x\\|y | z |\n"


def test_the_first_comment_is_the_description() -> None:
    assert all_options()["experiment/news"].description.startswith("python -m recx +experiment=news")
    content = yaml.safe_load((ROOT / "conf" / "experiment" / "news.yaml").read_text(encoding="utf-8"))
    assert all_options()["experiment/news"].content == content

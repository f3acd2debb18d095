"""The page of features lacks no set, no feature of a set, no class and no setting, and says what each may know."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest
import yaml
from reference_pages import features
from reference_pages.option_files import options

from recx.config.option_sources import options as installed

FEATURES = Path(__file__).resolve().parents[2] / "recx" / "parts" / "feature"
SETS = [one.name for one in features.feature_sets()]
CLASSES = {
    f"{kind.__module__}.{kind.__qualname__}": kind for of in features.modules() for kind in features.classes_of(of)
}


@cache
def page() -> str:
    return features.pages()["features"]


def section(title: str, text: str) -> str:
    found = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^##|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def lacking(path: str, text: str) -> set[str]:
    """Return what a page lacks of a class: its section, a setting, or what one means."""
    of_class = section(features.title_of(path), text)
    if not of_class:
        return {path}
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", of_class, flags=re.MULTILINE))
    return {field.name for field in fields(CLASSES[path])} - rows.keys()


def test_every_set_is_there_with_all_its_features() -> None:
    assert {f"feature/{name}" for name in SETS} >= {name for name in installed() if name.startswith("feature/")}
    for name in SETS:
        content = yaml.safe_load(options()[f"feature/{name}"].file.read_text(encoding="utf-8"))
        shown = re.findall(r"^\| `(\w+)` \| \[`([\w.]+)`\]", section(name, page()), flags=re.MULTILINE)
        wanted = {key: features.title_of(of["_target_"]) for key, of in content.items() if key != "defaults"}
        assert dict(shown) == wanted
        assert len(shown) > 0


@pytest.mark.parametrize("path", CLASSES)
def test_every_class_is_there_with_all_its_settings(path: str) -> None:
    assert lacking(path, page()) == set()


def test_a_class_or_a_setting_that_is_left_out_is_found() -> None:
    path = "recx.parts.feature.coclick.CoClicks"
    of_class = section("coclick.CoClicks", page())
    without = of_class.replace("| `window`", "| window")
    assert lacking(path, page().replace(of_class, without)) == {"window"}
    assert lacking(path, page().replace("### coclick.CoClicks", "")) == {path}


def test_every_class_that_a_set_uses_has_a_section() -> None:
    files = "".join(options()[f"feature/{name}"].file.read_text(encoding="utf-8") for name in SETS)
    used = set(re.findall(r"recx\.parts\.feature\.\w+\.\w+", files))
    assert len(used) > 20
    assert used <= CLASSES.keys()
    defined = {
        f"{file.stem}.{name}"
        for file in FEATURES.glob("*.py")
        for name in re.findall(
            r'^@checked\("feature"\)\nclass (\w+)', file.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    }
    assert len(defined) > 15
    assert defined <= {features.title_of(path) for path in CLASSES}


def test_every_module_says_what_its_features_know() -> None:
    for module in features.modules():
        assert re.search(r"^Known: .{10,}$", module.__doc__ or "", flags=re.MULTILINE), module.__name__


def test_every_link_leads_to_a_section() -> None:
    slugs = {
        re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
        for title in re.findall(r"^##+ (.*)$", page(), flags=re.MULTILINE)
    }
    links = set(re.findall(r"\]\(#([^)]+)\)", page()))
    assert len(links) > 40
    assert links <= slugs


def test_parts_in_settings_are_written_as_they_are_called() -> None:
    clicks = {"_target_": "recx.parts.feature.popularity.Clicks", "window": None}
    assert features.written({"_target_": "recx.parts.feature.reader.Times", "by": "night", "feature": clicks}) == (
        "reader.Times(by=night, feature=popularity.Clicks(window=null))"
    )
    assert "| `window` | `6h` |" in section("coclick.Transition", page())
    assert "| `encoder` |  | a part with its \\_target\\_ |" in section("tool.Relevance", page())

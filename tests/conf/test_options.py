"""Every option file is the documentation of its part: it builds, and has every setting with the part's own default."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from omegaconf import DictConfig, OmegaConf

import recx
from recx.config import factory, option_sources
from recx.config.compose import Schema, compose, plain
from recx.core.chosen import CHOSEN
from recx.core.errors import InputError
from recx.experiment import build
from recx.storage.cache.keys import key_of_part
from recx.testing import check_option

OPTIONS = {name: file for name, (_, file) in option_sources.options().items() if "/" in name}
PARTS = [
    name for name in OPTIONS if not name.startswith(("experiment/", "hydra/", "reproduction/", "study/", "sweep/"))
]
# Options named like their part's module; others are variants or sets of parts, such as all of feature and filter.
MAIN = [
    name
    for name in PARTS
    if not name.startswith(("feature/", "filter/"))
    and f"{name.replace('/', '.')}." in OPTIONS[name].read_text(encoding="utf-8")
]
KEPT = ("dataset/", "split/", "encoder/", "retriever/", "ranker/", "reranker/", "evaluator/")
"""Groups whose parts make what the stage cache keeps."""
EXPERIMENTS = [name.removeprefix("experiment/") for name in OPTIONS if name.startswith("experiment/")]
CHAINS = [name for name in EXPERIMENTS if name != "rerank_benchmark"]  # which has tests/benchmark


def parts_of(content: object, key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every part of an option file, the inner ones too, with its key."""
    if isinstance(content, dict):
        if "_target_" in content:
            yield key, content
        for name, value in content.items():
            yield from parts_of(value, f"{key}.{name}")
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from parts_of(value, f"{key}.{number}")


def class_of(part: dict[str, Any]) -> type:
    module, _, name = part["_target_"].rpartition(".")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def no_choice() -> dict[str, Any]:
    return {CHOSEN: plain(compose([]))[CHOSEN]}


def test_the_first_line_says_what_the_option_is() -> None:
    for name, file in OPTIONS.items():
        lines = file.read_text(encoding="utf-8").splitlines()
        if name.startswith(("experiment/", "sweep/")):
            assert lines.pop(0) == "# @package _global_", name  # Hydra reads it from the very first line only
        assert lines[0].startswith("# "), name
        assert "@package" not in lines[0], name


@pytest.mark.parametrize("name", PARTS)
def test_every_option_builds(name: str, placed: Callable[[str], DictConfig], no_choice: dict[str, Any]) -> None:
    content = OmegaConf.to_container(placed(name), resolve=True, throw_on_missing=True)
    assert isinstance(content, dict)
    assert build.plan({**content, **no_choice}).experiment


@pytest.mark.parametrize("name", PARTS)
def test_an_option_lists_every_setting_of_its_part_whose_annotations_can_be_read(
    name: str, written: Callable[[str], Any]
) -> None:
    for key, part in parts_of(written(name), name):
        kind = class_of(part)
        assert set(part) - {"_target_"} == {field.name for field in fields(kind) if field.init}, key
        assert set(get_type_hints(kind)) >= {field.name for field in fields(kind)}, key  # so that types are checked


@pytest.mark.parametrize("name", MAIN)
def test_the_main_option_of_a_part_has_its_defaults(name: str) -> None:
    check_option(name)


@pytest.mark.parametrize("name", [name for name in PARTS if name.startswith(KEPT) and not name.endswith("/none")])
def test_every_setting_counts_in_the_key_of_what_is_kept(name: str, placed: Callable[[str], DictConfig]) -> None:
    """A value of another type or size is another key, or is refused, or nothing is kept with it."""
    group = name.partition("/")[0]
    part = factory.build(OmegaConf.to_container(placed(name)[group], resolve=True), group)
    if not getattr(part, "cacheable", True):
        return
    before = key_of_part(part)
    for setting in fields(part):
        value = getattr(part, setting.name)
        other = {bool: not value, int: 7, float: 0.125, str: "another", type(None): "another"}.get(type(value))
        if other is None or other == value:
            continue
        changed = copy.copy(part)
        object.__setattr__(changed, setting.name, other)
        if not getattr(changed, "cacheable", True):
            continue
        try:
            assert key_of_part(changed) != before, setting.name
        except InputError:  # of a part that looks at its settings once more
            continue


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_chooses_options_and_sets_top_level_keys_only(name: str) -> None:
    text = OPTIONS[f"experiment/{name}"].read_text(encoding="utf-8")
    assert text.splitlines()[1].startswith(f"# python -m recx +experiment={name} ")
    content = OmegaConf.to_container(OmegaConf.load(OPTIONS[f"experiment/{name}"]), resolve=False)
    assert isinstance(content, dict)
    assert set(content) - {"defaults"} <= set(build.TOP_LEVEL)
    assert all(isinstance(entry, dict) and next(iter(entry)).startswith("override /") for entry in content["defaults"])


def test_the_schema_knows_the_keys_of_the_top_level_and_no_others() -> None:
    assert {field.name for field in fields(Schema)} == {
        *build.TOP_LEVEL,
        *build.METHODS,
        "feature",
        "filter",
        "runtime",
        "benchmark",
    }
    assert set(plain(compose([]))) == {field.name for field in fields(Schema)} | {"chosen"}


MADE_UP = {
    "agents": ["dataset.traces=60"],
    "ctr": ["dataset.impressions=200"],
    "rerank": ["dataset.queries=60", "evaluator.end_to_end=[hit_at_10]"],
}
"""What keeps an experiment small that makes its own data up; of others that do, the news site is made small."""


def tiny(name: str, folder: Path) -> list[str]:
    """Return what makes an experiment small: a small made-up world, or a file in its format."""
    users, items = range(60), range(30)
    # Everybody walks through the items in one order, so that there is something to learn.
    events = [(u, (u + n) % len(items), 1_000_000 + u * 3 + n * 600) for u in users for n in range(6)]
    file = folder / "data"
    if name == "movielens":
        file = folder / "u.data"
        file.write_text("".join(f"{u}\t{i}\t{1 + i % 5}\t{t}\n" for u, i, t in events))
    elif name == "table":
        file = folder / "clicks.csv"
        file.write_text("who,what,when\n" + "".join(f"{u},{i},{t}\n" for u, i, t in events))
        columns = ["dataset.user=who", "dataset.item=what", "dataset.time=when", "dataset.time_unit=s"]
        return [f"dataset.path={file}", *columns]
    elif name.startswith("sequences"):
        file = folder / "sequences.txt"
        file.write_text("".join(f"{u} {' '.join(str(i) for v, i, _ in events if v == u)}\n" for u in users))
    elif name.startswith("tools"):
        return ["dataset.tasks=300", "dataset.tools=30"]
    else:
        return MADE_UP.get(name, ["dataset.readers=300", "dataset.articles=100"])
    return [f"dataset.path={file}"]


@pytest.mark.parametrize("name", CHAINS)
def test_every_experiment_runs_on_a_tiny_world(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = recx.run([f"+experiment={name}", "tracker=console", "n_candidates=20", *tiny(name, tmp_path)])
    assert len(result.recommendations) > 0
    [folder] = (tmp_path / "outputs").glob("2*/*")
    figures = json.loads((folder / "metrics.json").read_text())
    if result.experiment.fold == "predict":
        assert (folder / "submission.csv").read_text().startswith("user_id,article_1")
    else:
        assert 0 < figures["end_to_end/auc_pooled" if name == "ctr" else "end_to_end/hit_at_10"] <= 1

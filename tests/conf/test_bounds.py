"""Every numeric setting of every part declares its bounds, and is refused beyond them wherever it is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from importlib.metadata import entry_points
from typing import Annotated, Any, get_args, get_origin

import annotated_types
import pytest
from omegaconf import DictConfig, OmegaConf

from recx.config import factory, option_sources
from recx.core.bounds import hints_of
from recx.core.errors import InputError

UNBOUNDED = {
    ("Abstain", "confidence"): "a difference of scores, which may be any numbers",
    ("Abstain", "threshold"): "a score of another retriever: scores may be any number",
    ("Evaluator", "threshold"): "a score from which a row counts as a target: scores may be any number",
    ("MinWeight", "least"): "weights may be any number",
    ("MovieLens", "min_rating"): "ratings may be any number",
    ("Period", "since"): "a time, in milliseconds or as a text, which is checked as one",
    ("Period", "until"): "a time, in milliseconds or as a text, which is checked as one",
    ("Rerank", "sample"): "a mapping with keys of its own, which are checked one by one",
    ("Rerank", "budget"): "a mapping with keys of its own, which are checked one by one",
    ("Rerank", "parallel"): "a mapping with keys of its own, which are checked one by one",
}
NO_PARTS = ("experiment/", "hydra/", "reproduction/", "study/", "sweep/")
with pytest.MonkeyPatch.context() as patch:
    patch.setattr(option_sources, "entry_points", entry_points)
    OPTIONS = [name for name in option_sources.options() if "/" in name and not name.startswith(NO_PARTS)]


@pytest.fixture(autouse=True)
def with_installed_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the installed plugins, which other tests here do not see, bring their parts."""
    monkeypatch.setattr(option_sources, "entry_points", entry_points)


@pytest.fixture
def parts(option: str, placed: Callable[[str], DictConfig]) -> dict[str, dict[str, Any]]:
    """Return every part of an option, the inner ones too, by its key."""
    group = option.partition("/")[0]
    return dict(_walked(OmegaConf.to_container(placed(option)[group], resolve=True), group))


def _walked(content: Any, key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(content, dict):
        if "_target_" in content:
            yield key, content
        for name, value in content.items():
            yield from _walked(value, f"{key}.{name}")


def numbers_in(hint: Any) -> Iterator[Any]:
    """Yield every number that a setting may hold: the annotation with its bounds, or the bare type."""
    if get_origin(hint) is Annotated:
        if get_args(hint)[0] in (int, float):
            yield hint
    elif hint in (int, float):
        yield hint
    else:
        for inner in get_args(hint):
            yield from numbers_in(inner)


def beyond(hint: Any) -> list[Any]:
    """Return a value beyond every bound of an annotation."""
    outside: list[Any] = []
    for mark in get_args(hint)[1:]:
        for limit in mark if isinstance(mark, annotated_types.GroupedMetadata) else [mark]:
            match limit:
                case annotated_types.Ge(bound):
                    outside.append(bound - 1)
                case annotated_types.Le(bound):
                    outside.append(bound + 1)
                case annotated_types.Gt(bound) | annotated_types.Lt(bound):
                    outside.append(bound)
    return outside


@pytest.mark.parametrize("option", OPTIONS)
def test_every_number_declares_its_bounds_and_is_refused_beyond_them_from_a_configuration_and_in_python(
    parts: dict[str, dict[str, Any]],
) -> None:
    for key, part in parts.items():
        kind = factory.locate(part["_target_"], key)
        built = factory.build(part, key)
        for field in fields(kind):
            for hint in numbers_in(hints_of(kind)[field.name]):
                assert beyond(hint) or (kind.__name__, field.name) in UNBOUNDED, f"{kind.__name__}.{field.name}"
                for value in [*beyond(hint), float("nan"), True]:
                    given = {"x": value} if isinstance(getattr(built, field.name), dict) else value
                    with pytest.raises(InputError, match=rf"^{key}\.{field.name}(\.x)?=.*: it must be "):
                        factory.build({**part, field.name: given}, key)
                    with pytest.raises(InputError, match=rf"^\w+(\.\w+)?\.{field.name}(\.x)?=.*: it must be "):
                        replace(built, **{field.name: given})

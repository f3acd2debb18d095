"""``hydra.sweeper.when``: settings that a sweep varies only where another one has a certain value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf

from recx.config import hydra_internals as internals
from recx.core.errors import InputError


@dataclass(frozen=True)
class Branch:
    """Ranges that apply where a key has one of certain values.

    Attributes:
        condition: The key or group and its values.
        ranges: The ranges that apply then.
    """

    condition: internals.Override
    ranges: tuple[internals.Override, ...]

    @property
    def key(self) -> str:
        """The key or group of the condition."""
        return internals.key_of(self.condition)

    def applies(self, value: str) -> bool:
        """Return whether a value of the key, as it is typed, meets the condition."""
        return value in map(as_typed, internals.values_of(self.condition))

    def first(self) -> dict[str, str]:
        """Return key -> override with the first value, for the condition and each range, to check that keys exist."""
        return {internals.key_of(one): internals.first_value(one) for one in (self.condition, *self.ranges)}


def branches(when: Mapping[str, Mapping[str, Any]] | None) -> list[Branch]:
    """Return the branches of ``hydra.sweeper.when``.

    Raises:
        InputError: It is not a mapping of conditions to ranges.
        OverrideParseException: A condition or a range cannot be read.
    """
    return [_branch(condition, ranges) for condition, ranges in (when or {}).items()]


def as_typed(value: Any) -> str:
    """Return a value as it is typed, without quotes."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value).strip("'\"")


def composed_value(config: DictConfig, key: str) -> str:
    """Return the chosen option of a group, or the value of a key, in the configuration without a trial's values."""
    choices = config.hydra.runtime.choices
    return as_typed(choices[key] if key in choices else OmegaConf.select(config, key))


def _branch(condition: str, ranges: Any) -> Branch:
    if not isinstance(ranges, Mapping | DictConfig) or "=" not in condition:
        raise InputError(
            f"hydra.sweeper.when: {condition!r} is not a condition with ranges: write KEY=VALUE and, below it, KEY: "
            "RANGE, such as retriever=item_knn: {retriever.neighbours: 'range(50,500,50)'}"
        )
    [first, *others] = internals.parse([condition, *(f"{key}={values}" for key, values in ranges.items())])
    if internals.is_interval(first):
        raise InputError(f"hydra.sweeper.when: {condition!r} is not a condition: name one value or several, KEY=A,B")
    return Branch(first, tuple(others))

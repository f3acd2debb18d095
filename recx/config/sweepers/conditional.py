"""Settings below a group that the same grid varies: each applies only with the options that have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from omegaconf import DictConfig, OmegaConf

from recx.config import hydra_internals as internals
from recx.config.hydra_errors import explained, settings_of
from recx.core.errors import InputError, did_you_mean

GLOBAL = ("experiment", "_global_")
"""Groups and packages whose options lie at the top of a configuration."""


@dataclass(frozen=True)
class Conditional:
    """A setting that applies with some options only.

    Attributes:
        override: The setting, as it was typed.
        groups: The groups above it that vary, as in ``+experiment``.
        takers: The choices, one for each of the groups, with which the setting exists, such as ``("ranker=linear",)``.
        everywhere: Whether these are all the choices.
    """

    override: internals.Override
    groups: tuple[str, ...]
    takers: frozenset[tuple[str, ...]]
    everywhere: bool

    def applies(self, trial: Sequence[str]) -> bool:
        """Return whether the setting exists with the options that a trial chooses."""
        chosen = {one.partition("=")[0]: one for one in trial}
        return tuple(chosen[group] for group in self.groups) in self.takers


@dataclass(frozen=True)
class Finder:
    """Finds out which settings of a grid apply where, by composing the options without them.

    Attributes:
        values: Key, as in ``+ranker.note`` -> the overrides that give it each of its values.
        composed: Returns the configuration of overrides.
        groups: The names of all groups.
    """

    values: Mapping[str, Sequence[str]]
    composed: Callable[[tuple[str, ...]], DictConfig]
    groups: frozenset[str]

    def find(self, overrides: Sequence[internals.Override]) -> dict[str, Conditional]:
        """Return the settings below groups that vary, by key.

        Args:
            overrides: All of the grid, deletions included.

        Raises:
            InputError: A setting exists with none of the options; the message names the closest match.
        """
        found: dict[str, Conditional] = {}
        by_key = {one.get_key_element(): one for one in overrides}
        for key in sorted(by_key, key=lambda one: len(_path(one))):  # a group comes before what lies below it
            if self._above(_path(key)):
                found[key] = self._conditional(by_key[key], found)
        return found

    def choices(self, path: str, found: Mapping[str, Conditional]) -> list[tuple[tuple[str, ...], DictConfig]]:
        """Return each choice of the groups above the place of a setting, and what it composes to."""
        groups = self._above(path)
        fixed = [values[0] for key, values in self.values.items() if key not in groups and not self._above(_path(key))]
        rows = []
        for choice in product(*(self.values[group] for group in groups)):
            given = [one for group, one in zip(groups, choice, strict=True) if _exists(found.get(group), choice)]
            rows.append((choice, self.composed((*fixed, *given))))
        return rows

    def _above(self, path: str) -> tuple[str, ...]:
        """Return the groups that vary and have the place of a setting below theirs."""
        groups = (key for key, of_key in self.values.items() if len(of_key) > 1 and _group(key) in self.groups)
        return tuple(key for key in groups if _lies_below(path, _path(key)))

    def _conditional(self, override: internals.Override, found: Mapping[str, Conditional]) -> Conditional:
        key = override.get_key_element()
        path, adds = _path(key), key.startswith("+")
        rows = self.choices(path, found)
        with explained():
            takers = frozenset(choice for choice, config in rows if _takes(config, path, adds=adds))
        if not takers:
            options = ", ".join(" ".join(choice) for choice, _ in rows)
            raise InputError(f"{path}: none of {options} {_nearest(path, [config for _, config in rows])}")
        return Conditional(override, self._above(path), takers, len(takers) == len(rows))


def _exists(group: Conditional | None, choice: Sequence[str]) -> bool:
    return group is None or group.applies(choice)


def _group(key: str) -> str:
    return key.lstrip("+~").partition("@")[0]


def _path(key: str) -> str:
    """Return the place of a key or group in a configuration; "" at its top."""
    group, at, package = key.lstrip("+~").partition("@")
    place = package if at else group.replace("/", ".")
    return "" if place in GLOBAL else place


def _lies_below(path: str, place: str) -> bool:
    return "." in path if place == "" else path.startswith(f"{place}.")


def _takes(config: DictConfig, path: str, *, adds: bool) -> bool:
    """Return whether a configuration has a setting or, if it is to be added, the class of its part does."""
    parent, _, name = path.rpartition(".")
    node = OmegaConf.select(config, parent)
    if not isinstance(node, DictConfig):
        return False
    return name in node.keys() or (adds and ("_target_" not in node or name in settings_of(node, parent)))  # noqa: SIM118


def _nearest(path: str, configs: Sequence[DictConfig]) -> str:
    """Return the end of an error about a setting that no configuration has: what is missing, and the closest match."""
    ways = [_way(config, path.split(".")) for config in configs]
    deepest = max(len(way) for way, _ in ways)
    known = {name for way, names in ways if len(way) == deepest for name in names}
    missing = path.split(".")[deepest]
    return f"has a setting {missing!r}: {did_you_mean(missing, known)}"


def _way(node: object, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names that lead to nodes of a configuration, and the keys of the last of them."""
    way: list[str] = []
    keys: list[str] = []
    for name in names:
        keys = [str(key) for key in node if not str(key).startswith("_")] if isinstance(node, DictConfig) else []
        if name not in keys or len(way) == len(names) - 1:
            break
        assert isinstance(node, DictConfig)
        node = node[name]
        way.append(name)
    return way, keys

"""The file of a study, ``conf/study/NAME.yaml``: chains, worlds, seeds, and what is compared.

    metrics: [ndcg_at_10, recall_at_20]   # without a stage: of end_to_end/; the first one tunes
    baseline: popularity                  # the chain that the others are compared with; null: none
    seeds: [0, 1, 2]
    tuning: {trials: 20, seed: 0}         # of each chain that has `tune`, in each world, on valid
    average: false                        # true: the worlds are averaged too
    chains:
      popularity: [retriever=popularity, ranker=identity]
      ease: {overrides: [retriever=ease, ranker=identity], tune: ["retriever.l2=10,100,1000"]}
    worlds:
      films: [+experiment=movielens, "dataset.path={data}/ml-100k/u.data"]   # {data}: the folder of data=DIR

The file is somebody else's, perhaps a stranger's: it names no code and no program (see ``recx.jobs.study.strangers``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from recx.config import option_sources
from recx.core.bounds import NonNegativeInt, Seed, coerce
from recx.core.errors import InputError, did_you_mean
from recx.core.metric_names import lower_is_better, spelled
from recx.core.system.plain_files import read_text
from recx.core.yaml_files import parse_unique

GROUP = "study"
"""The folder of option files, in ``conf``, that holds studies."""
DATA = "{data}"
"""What stands in an override for the folder of ``data=DIR``."""
STAGES = ("retrieval", "ranking", "end_to_end")
OWN = (
    *("seed", "fold", "objective", "name", "allow_tuning_on_test", "sweep", "benchmark"),
    *(f"evaluator.{stage}" for stage in STAGES),
)
"""Keys that a study sets itself, for all of its cells."""
_NAME = re.compile(r"[^\W_][\w.+-]{0,63}", re.ASCII)


@dataclass(frozen=True)
class Tuning:
    """How the settings of a chain are chosen in a world.

    Attributes:
        trials: The most trials of each chain in each world; 0: nothing is tuned.
        seed: The seed of the search, and of its runs.
    """

    trials: NonNegativeInt = 0
    seed: Seed = 0


@dataclass(frozen=True)
class Chain:
    """A chain of a study.

    Attributes:
        overrides: Its overrides.
        tune: The settings that are tuned, each with its values or its range, as in a sweep: ``ranker.l2=0.1,1``.
    """

    overrides: Sequence[str] = ()
    tune: Sequence[str] = ()


@dataclass(frozen=True)
class StudySpec:
    """What the file of a study says.

    Attributes:
        name: The name of the study.
        file: Its file, for errors.
        metrics: Full names of the figures that are compared, such as ``end_to_end/ndcg_at_10``; the first one tunes.
        seeds: The seeds of each chain in each world.
        chains: Name -> chain.
        worlds: Name -> overrides.
        baseline: The chain that the others are compared with; None: none is.
        tuning: How settings are chosen.
        average: Whether the worlds are averaged too.
    """

    name: str
    file: Path
    metrics: Sequence[str]
    seeds: Sequence[Seed]
    chains: Mapping[str, Chain]
    worlds: Mapping[str, Sequence[str]]
    baseline: str | None = None
    tuning: Tuning = field(default_factory=Tuning)
    average: bool = False


KEYS = tuple(one.name for one in fields(StudySpec) if one.name not in ("name", "file"))
"""The keys of a file."""


def file_of(study: str, group: str = GROUP) -> Path:
    """Return the file of a study, which is given by its name or as a path.

    Args:
        study: The name of an option file of the group, or a path that ends with ``.yaml`` or ``.yml``.
        group: The group of option files.

    Raises:
        InputError: There is none.
    """
    if study.endswith((".yaml", ".yml")):
        if not Path(study).is_file():
            raise InputError(f"{study}: there is no such file: give a file, or the name of a {group} in conf/{group}")
        return Path(study)
    known = {
        name.partition("/")[2]: file
        for name, (_, file) in option_sources.options().items()
        if name.startswith(f"{group}/")
    }
    if study not in known:
        raise InputError(f"{study}: there is no {group} of that name: {did_you_mean(study, known)}")
    return known[study]


def content_of(file: Path) -> dict[str, Any]:
    """Return what a YAML file of keys says.

    Raises:
        InputError: It is no YAML, has a key twice, or is something other than keys with values.
    """
    try:
        content = parse_unique(file, read_text(file))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or "it is not text in UTF-8"
        raise InputError(f"{file}{where}: this is not YAML ({what}): correct it") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: a study is a mapping of keys: write {', '.join(KEYS)}")
    return {str(key): value for key, value in content.items()}


def spec_of(content: Mapping[str, Any], file: Path, name: str | None = None) -> StudySpec:
    """Return the study that the keys of a file describe.

    Args:
        content: Key -> value, see ``KEYS``.
        file: The file, for errors.
        name: The name of the study; None: that of the file.

    Raises:
        InputError: A key is unknown or missing, or its value is wrong; the message names file and key.
    """
    name = file.name.removesuffix(".yaml").removesuffix(".yml") if name is None else name
    try:
        check_name(name, "name")
        unknown = next((key for key in content if key not in KEYS), None)
        if unknown is not None:
            raise InputError(f"{unknown}: a study has no such key: {did_you_mean(unknown, KEYS)}")
        for key in ("metrics", "seeds", "chains", "worlds"):
            if not content.get(key):
                raise InputError(f"{key} is missing or empty: a study needs at least one")
        chains = {chain: _chain(value, chain) for chain, value in _named(content["chains"], "chains").items()}
        worlds = {
            world: _overrides(value, f"worlds.{world}") for world, value in _named(content["worlds"], "worlds").items()
        }
        found = StudySpec(
            name=name,
            file=file,
            metrics=_metrics(content["metrics"]),
            seeds=_distinct(coerce(content["seeds"], tuple[Seed, ...], "seeds"), "seeds"),
            chains=chains,
            worlds=worlds,
            baseline=coerce(content.get("baseline"), str | None, "baseline"),
            tuning=_tuning(content.get("tuning") or {}),
            average=coerce(content.get("average", False), bool, "average"),
        )
        _check(found)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    return found


def _check(spec: StudySpec) -> None:
    """Check what keys say of each other."""
    from recx.jobs.sweep.checks import check_same_users

    if spec.baseline is not None and spec.baseline not in spec.chains:
        near = did_you_mean(spec.baseline, spec.chains)
        raise InputError(f"baseline: {spec.baseline}: no chain has that name: {near}")
    tuned = [name for name, chain in spec.chains.items() if chain.tune]
    if spec.tuning.trials and not tuned:
        raise InputError("tuning.trials: no chain has settings to tune: give one `tune: [KEY=VALUE,VALUE]`, or write 0")
    if not spec.tuning.trials or not tuned:
        return
    if lower_is_better(spec.metrics[0]):
        raise InputError(
            f"metrics: {spec.metrics[0]}: lower values are better, and the first metric is maximized by tuning: put "
            "another one first"
        )
    for name in tuned:
        check_same_users(spec.metrics[0], [key_of(one) for one in spec.chains[name].tune])


def key_of(override: str) -> str:
    """Return the key or group of an override as it is written."""
    return override.lstrip("+~").partition("=")[0]


def _chain(value: Any, name: str) -> Chain:
    key = f"chains.{name}"
    if not isinstance(value, Mapping):
        return Chain(_overrides(value, key))
    known = [one.name for one in fields(Chain)]
    unknown = next((inner for inner in value if inner not in known), None)
    if unknown is not None:
        raise InputError(f"{key}.{unknown}: a chain has no such key: {did_you_mean(str(unknown), known)}")
    tune = _overrides(value.get("tune") or [], f"{key}.tune")
    for one in tune:
        if "=" not in one or one.startswith("~"):
            raise InputError(f"{key}.tune: {one}: write KEY=VALUE,VALUE or KEY=interval(LOW,HIGH)")
    return Chain(_overrides(value.get("overrides") or [], f"{key}.overrides"), tune)


def _overrides(value: Any, key: str) -> tuple[str, ...]:
    """Return a list of overrides; raise InputError for one that a study sets itself."""
    found: tuple[str, ...] = coerce(value, tuple[str, ...], key)
    for one in found:
        if f"{key_of(one).partition('@')[0]}.".startswith(tuple(f"{own}." for own in OWN)):
            raise InputError(
                f"{key}: {one}: a study sets {key_of(one)} itself, from its seeds and metrics: leave it out here"
            )
    return found


def _tuning(value: Any) -> Tuning:
    known = {one.name: one.default for one in fields(Tuning)}
    if not isinstance(value, Mapping):
        raise InputError(f"tuning={value}: write for example {{trials: 20, seed: 0}}")
    unknown = next((inner for inner in value if inner not in known), None)
    if unknown is not None:
        raise InputError(f"tuning.{unknown}: there is no such key: {did_you_mean(str(unknown), known)}")
    trials = coerce(value.get("trials", known["trials"]), NonNegativeInt, "tuning.trials")
    return Tuning(trials, coerce(value.get("seed", known["seed"]), Seed, "tuning.seed"))


def _metrics(value: Any) -> tuple[str, ...]:
    """Return the full names of metrics."""
    names = coerce(value, tuple[str, ...], "metrics")
    for name in names:
        stage, slash, metric = name.rpartition("/")
        if slash and stage not in STAGES:
            raise InputError(f"metrics: {name}: {did_you_mean(stage, STAGES)}")
        if spelled(metric) != metric:
            raise InputError(f"metrics: {name}: it is called {spelled(name)} here")
    return _distinct([name if "/" in name else f"{STAGES[-1]}/{name}" for name in names], "metrics")


def _distinct(values: Sequence[Any], key: str) -> tuple[Any, ...]:
    twice = next((one for one in values if values.count(one) > 1), None)
    if twice is not None:
        raise InputError(f"{key}: {twice} is in the list twice: leave one out")
    return tuple(values)


def _named(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{key}: write NAME: [OVERRIDE, ...] for each")
    for name in value:
        check_name(name, key)
    return dict(value)


def check_name(name: object, key: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"{key}: {name}: it names a folder: use letters, digits, _ . + -, 64 at most")

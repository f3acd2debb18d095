"""What a study runs: its cells, and the tunings that some of them wait for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recx.core.chosen import NO_MATTER
from recx.core.errors import InputError, did_you_mean
from recx.jobs.study import strangers
from recx.jobs.study.cells import Cell, Key, Pair
from recx.jobs.study.spec import DATA, STAGES, StudySpec, key_of


@dataclass(frozen=True)
class Choice:
    """What tuning chose for a chain in a world.

    Attributes:
        overrides: The settings.
        value: The figure on valid by which they were chosen.
        reason: Why there is no choice, in one sentence; "" where there is one.
    """

    overrides: tuple[str, ...] = ()
    value: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class TuningPlan:
    """The settings of a chain that are tuned in a world.

    Attributes:
        chain: The name of the chain.
        world: The name of the world.
        overrides: What its trials are composed of, beside what is tuned.
        tune: The ranges, as in a sweep.
        trials: The most trials.
        seed: The seed of the search, and of its runs.
    """

    chain: str
    world: str
    overrides: tuple[str, ...]
    tune: tuple[str, ...]
    trials: int
    seed: int

    @property
    def pair(self) -> Pair:
        """Its chain and its world."""
        return self.chain, self.world


@dataclass(frozen=True)
class Plan:
    """A study that is about to start or to go on.

    Attributes:
        name: Its name.
        file: Its file, for errors.
        metrics: Full names of the figures that are compared; the first one tunes.
        baseline: The chain that the others are compared with; None: none is.
        average: Whether the worlds are averaged too.
        cells: Its cells: by chain, world and seed.
        tunings: What is tuned before.
        config: The configuration of the first cell.
        chosen: From a lock file: chain and world -> what tuning chose there.
        expected: From a lock file: chain, world and seed -> the hash of the data of that cell.
    """

    name: str
    file: Path
    metrics: Sequence[str]
    baseline: str | None
    average: bool
    cells: Sequence[Cell]
    tunings: Sequence[TuningPlan]
    config: Mapping[str, Any]
    chosen: Mapping[Pair, Choice] = field(default_factory=dict)
    expected: Mapping[Key, str] = field(default_factory=dict)

    @property
    def seeds(self) -> list[int]:
        """The seeds of all cells, in their order."""
        return list(dict.fromkeys(cell.seed for cell in self.cells))


@dataclass(frozen=True)
class Selection:
    """Some chains, worlds and seeds of a study; what is empty selects all.

    Attributes:
        chains: Names of chains.
        worlds: Names of worlds.
        seeds: Seeds, which need not be those of the study.
    """

    chains: Sequence[str] = ()
    worlds: Sequence[str] = ()
    seeds: Sequence[int] = ()

    def of(self, spec: StudySpec) -> StudySpec:
        """Return a study with what is selected of it.

        Raises:
            InputError: There is no such chain or world.
        """
        self.check(spec.chains, spec.worlds)
        kept = {name: chain for name, chain in spec.chains.items() if name in self.chains or not self.chains}
        return replace(
            spec,
            chains=kept,
            worlds={name: world for name, world in spec.worlds.items() if name in self.worlds or not self.worlds},
            seeds=tuple(self.seeds) or spec.seeds,
            baseline=spec.baseline if spec.baseline in kept else None,
        )

    def of_cells(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the selected cells; raises as ``of``."""
        self.check([cell.chain for cell in cells], [cell.world for cell in cells], [cell.seed for cell in cells])
        every = (self.chains, self.worlds, self.seeds)
        return [
            cell for cell in cells if all(not some or one in some for some, one in zip(every, cell.key, strict=True))
        ]

    def check(self, chains: Collection[str], worlds: Collection[str], seeds: Collection[int] = ()) -> None:
        """Check that what is selected is there; raises as ``of``."""
        known: list[tuple[str, Sequence[object], Collection[object]]]
        known = [("chains", self.chains, chains), ("worlds", self.worlds, worlds)]
        known += [("seeds", self.seeds, seeds)] if seeds else []
        for kind, wanted, there in known:
            unknown = next((one for one in wanted if one not in there), None)
            if unknown is not None:
                near = did_you_mean(str(unknown), dict.fromkeys(map(str, there)))
                raise InputError(f"{kind}={unknown}: the study has none of that name: {near}")


@dataclass(frozen=True)
class Local:
    """What belongs to this machine and this command line, and not to the study.

    Attributes:
        data: The folder that ``{data}`` stands for; None: none was given.
        overrides: Overrides that no figure depends on, such as ``tracker=console``.
    """

    data: Path | None = None
    overrides: tuple[str, ...] = ()

    def composed(self, overrides: Sequence[str]) -> dict[str, Any]:
        """Return the plain configuration of the overrides of a cell.

        Raises:
            InputError: They cannot be composed, or they need a folder of data.
        """
        from recx.config.compose import compose, plain

        return plain(compose(self.resolved(overrides)))

    def resolved(self, overrides: Sequence[str]) -> list[str]:
        """Return the overrides of a cell as they are run here."""
        from recx.config.overrides import readable

        if self.data is None and (needed := next((one for one in overrides if DATA in one), None)):
            raise InputError(f"{needed}: the folder of the data is missing: give data=DIR")
        return readable(merged([one.replace(DATA, str(self.data)) for one in overrides], self.overrides))


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words of a command line that figures depend on, and those that none does."""
    local = [one for one in words if key_of(one).partition(".")[0] in (*NO_MATTER, "hydra")]
    return [one for one in words if one not in local], local


def merged(*parts: Sequence[str]) -> tuple[str, ...]:
    """Return overrides of which a later one of the same key takes the place of an earlier one."""
    found: dict[str, str] = {}
    for one in (one for part in parts for one in part):
        found[f"~{key_of(one)}" if one.startswith("~") else key_of(one)] = one
    return tuple(found.values())


def planned(spec: StudySpec, local: Local, words: Sequence[str] = ()) -> Plan:
    """Return what a study runs.

    Each world is composed with the first chain, and each chain with the first world, so that a typo is found before
    anything runs; a chain that does not fit another world is a failed cell.

    Args:
        spec: The study.
        local: What belongs to this machine.
        words: Further overrides of all cells, from the command line. It permits what it repeats of the study.

    Raises:
        InputError: The study says what a stranger may not say, or an override is wrong.
    """
    strangers.check(spec, [*words, *local.overrides])
    own = [*(one for chain in spec.chains.values() for one in chain.overrides)]
    own += [one for world in spec.worlds.values() for one in world]
    more = [one for one in words if one not in own]
    first_chain, first_world = next(iter(spec.chains)), next(iter(spec.worlds))
    metrics: dict[str, tuple[str, ...]] = {}
    first: dict[str, Any] = {}

    def overrides(chain: str, world: str) -> tuple[str, ...]:
        fixed = [f"objective={spec.metrics[0]}", *metrics.get(world, ())]
        return merged(spec.worlds[world], spec.chains[chain].overrides, more, fixed)

    for chain, world in _crossed(spec, first_chain, first_world):
        try:
            config = local.composed(overrides(chain, world))
            _check_built(config)
            if world not in metrics:
                metrics[world] = _with_metrics(config["evaluator"], spec.metrics)
        except InputError as error:
            raise InputError(f"{spec.file}: chain {chain} in world {world}: {error}") from None
        first = first or config
    pairs = [(chain, world) for chain in spec.chains for world in spec.worlds]
    cells = [Cell(chain, world, seed, overrides(chain, world)) for chain, world in pairs for seed in spec.seeds]
    tunings = [
        TuningPlan(
            chain, world, overrides(chain, world), tuple(spec.chains[chain].tune), spec.tuning.trials, spec.tuning.seed
        )
        for chain, world in pairs
        if spec.chains[chain].tune and spec.tuning.trials
    ]
    return Plan(spec.name, spec.file, spec.metrics, spec.baseline, spec.average, cells, tunings, first)


def _crossed(spec: StudySpec, chain: str, world: str) -> list[tuple[str, str]]:
    return [(chain, one) for one in spec.worlds] + [(one, world) for one in spec.chains if one != chain]


def _check_built(config: Mapping[str, Any]) -> None:
    """Raise InputError if a part of a configuration cannot be built."""
    from recx.core.system.threads import limited_to
    from recx.experiment import build

    with limited_to(config["runtime"]["threads"]):
        build.plan(config)


def _with_metrics(evaluator: Mapping[str, Any], metrics: Sequence[str]) -> tuple[str, ...]:
    """Return overrides that add the metrics of a study, where an evaluator lacks them."""
    found = []
    for stage in STAGES:
        listed = list(evaluator.get(stage) or ())
        wanted = [name.partition("/")[2] for name in metrics if name.startswith(f"{stage}/")]
        lacking = [name for name in wanted if name not in listed]
        if lacking and not all(isinstance(name, str) for name in listed):
            raise InputError(
                f"metrics: {lacking[0]}: evaluator.{stage} has metrics with settings of their own, so none can be "
                "added to it here: add this one in its option file"
            )
        if lacking:
            found.append(f"evaluator.{stage}=[{','.join([*listed, *lacking])}]")
    return tuple(found)

"""The tables of a study: figures of each chain in each world, average ranks, costs, and every run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from recx.core.metric_names import lower_is_better
from recx.core.nouns import ORDINARY, Nouns
from recx.core.resampling import FEW_USERS
from recx.core.secrets import hidden_override
from recx.evaluation.average_ranks import DECIMALS, AverageRanks, average_ranks
from recx.evaluation.studies import COLUMNS, NAMES, Worlds, study_table
from recx.evaluation.warnings import differing_cards, some
from recx.jobs.study.cells import CellOutcome

if TYPE_CHECKING:
    import pandas as pd

TEXTS = ("chain", "world", "reason", "untested", "untested_best", "stars", "folder", "overrides")
COUNTS = ("n_seeds", "users", "seed")
COSTS = (*NAMES, "seconds", "memory", "n_seeds")
RUNS = (*NAMES, "seed", "seconds", "memory", "folder", "reason", "overrides")


@dataclass(frozen=True, eq=False)
class StudyTables:
    """What came of a study, as frames.

    Attributes:
        metrics: Full names of the figures, the main one first.
        baseline: The chain that the others are held against; None: none.
        chains: Their names, in the order of the study.
        worlds: Their names.
        seeds: The seeds.
        average: Whether worlds may be averaged.
        pivot: Metric -> a row per chain and world (see ``recx.evaluation.studies.study_table``).
        ranks: Metric -> average ranks over the worlds.
        costs: A row per chain and world: ``seconds`` (wall clock) and ``memory`` (peak bytes of the process), each the
            mean over the ``n_seeds`` runs that finished; NaN where it is unknown.
        runs: A row per run: chain, world, seed, seconds, memory, folder, reason, overrides, its mean of each metric.
        cautions: What to know before the figures are relied on.
        nouns: What the users and items of its runs are called.
    """

    metrics: tuple[str, ...]
    baseline: str | None
    chains: tuple[str, ...]
    worlds: tuple[str, ...]
    seeds: tuple[int, ...]
    average: bool
    pivot: Mapping[str, pd.DataFrame]
    ranks: Mapping[str, AverageRanks]
    costs: pd.DataFrame
    runs: pd.DataFrame
    cautions: tuple[str, ...]
    nouns: Nouns = ORDINARY

    def wide(self, metric: str, column: str = "mean") -> pd.DataFrame:
        """Return a column of a metric's table with a row per chain and a column per world.

        Args:
            metric: The full name of the metric.
            column: A column of its table, such as ``sd`` or ``p_holm``.
        """
        return _wide(self.pivot[metric], column)

    def averages(self, metric: str) -> pd.Series[float]:
        """Return the mean over the worlds of each chain that has a figure in all of them, NaN for others.

        Each world counts the same. Unlike worlds have no common scale: only ``average: true`` in the study shows this.
        """
        return self.wide(metric).mean(axis=1, skipna=False)

    def document(self) -> dict[str, Any]:
        """Return the tables as plain values, from which ``of_document`` makes them again."""
        from recx.core.system.serialize import plain

        frames = {"costs": self.costs, "runs": self.runs}
        found = {
            **{name: getattr(self, name) for name in ("metrics", "baseline", "chains", "worlds", "seeds", "average")},
            "cautions": self.cautions,
            "nouns": vars(self.nouns),
            "pivot": {metric: table.to_dict("records") for metric, table in self.pivot.items()},
            "ranks": {metric: asdict(ranks) for metric, ranks in self.ranks.items()},
            **{name: frame.to_dict("records") for name, frame in frames.items()},
        }
        return dict(plain(found))


def tables_of(
    outcomes: Sequence[CellOutcome],
    metrics: Sequence[str],
    baseline: str | None,
    *,
    average: bool = False,
    nouns: Nouns = ORDINARY,
) -> StudyTables:
    """Return the tables of a study.

    Args:
        outcomes: What came of each cell, failed ones too.
        metrics: Full names of the figures, the main one first.
        baseline: The chain that the others are held against; None: none.
        average: Whether worlds may be averaged.
        nouns: What the users and items of its runs are called.
    """
    chains, worlds, seeds = (
        tuple(dict.fromkeys(getattr(one.cell, kind) for one in outcomes)) for kind in ("chain", "world", "seed")
    )
    finished = _finished(outcomes, chains, worlds)
    pivot = {metric: _with_reasons(study_table(finished, metric, baseline), outcomes) for metric in metrics}
    return StudyTables(
        metrics=tuple(metrics),
        baseline=baseline,
        chains=chains,
        worlds=worlds,
        seeds=seeds,
        average=average,
        pivot=pivot,
        ranks={
            metric: average_ranks(_wide(table, "mean"), falling=lower_is_better(metric))
            for metric, table in pivot.items()
        },
        costs=_costs(finished, outcomes),
        runs=_runs(outcomes, metrics),
        cautions=tuple(_cautions(outcomes, finished, pivot, baseline, nouns)),
        nouns=nouns,
    )


def of_document(document: Mapping[str, Any]) -> StudyTables:
    """Return the tables that ``StudyTables.document`` made plain values of.

    Values that are not such raise an exception of any kind.
    """
    figures = dict.fromkeys(document["metrics"], math.nan)
    return StudyTables(
        metrics=tuple(map(str, document["metrics"])),
        baseline=document["baseline"],
        chains=tuple(map(str, document["chains"])),
        worlds=tuple(map(str, document["worlds"])),
        seeds=tuple(map(int, document["seeds"])),
        average=bool(document["average"]),
        pivot={metric: _frame(document["pivot"][metric], COLUMNS) for metric in figures},
        ranks={metric: _ranks(document["ranks"][metric]) for metric in figures},
        costs=_frame(document["costs"], COSTS),
        runs=_frame(document["runs"], (*RUNS, *figures)),
        cautions=tuple(map(str, document["cautions"])),
        nouns=Nouns(**document["nouns"]),
    )


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame([[row[name] for name in columns] for row in rows], columns=list(columns))
    kinds = {**dict.fromkeys(TEXTS, str), **dict.fromkeys(COUNTS, "int64")}
    return frame.astype({name: kinds.get(name, "float64") for name in columns})


def _ranks(values: Mapping[str, Any]) -> AverageRanks:
    known: dict[str, Any] = {name: math.nan if value is None else value for name, value in values.items()}
    lists = {"worlds": tuple(known["worlds"]), "groups": tuple(map(tuple, known["groups"]))}
    return AverageRanks(**{**known, **lists})


def _wide(table: pd.DataFrame, column: str) -> pd.DataFrame:
    chains, worlds = (list(dict.fromkeys(table[name])) for name in NAMES)
    return table.pivot(index="chain", columns="world", values=column).loc[chains, worlds]


def _finished(outcomes: Sequence[CellOutcome], chains: Sequence[str], worlds: Sequence[str]) -> Worlds:
    found: dict[str, dict[str, dict[int, Any]]] = {world: {chain: {} for chain in chains} for world in worlds}
    for one in outcomes:
        if one.evaluation is not None:
            found[one.cell.world][one.cell.chain][one.cell.seed] = one.evaluation
    return found


def _with_reasons(table: pd.DataFrame, outcomes: Sequence[CellOutcome]) -> pd.DataFrame:
    """Return a table whose reasons say why runs failed: the first reason of a chain in a world, and of how many seeds.

    Where some seeds finished there is a mean, over these, and the reason says what it lacks.
    """
    reasons = {}
    for (chain, world), of_cell in _grouped(outcomes).items():
        failed = [one for one in of_cell if one.evaluation is None]
        if failed:
            count = f"{len(failed)} of {len(of_cell)} seeds failed: " if len(of_cell) > 1 else ""
            reasons[chain, world] = f"{count}{failed[0].reason or 'it did not finish'}"
    rows = zip(table["chain"], table["world"], table["reason"], strict=True)
    return table.assign(reason=[reasons.get((chain, world), reason) for chain, world, reason in rows])


def _grouped(outcomes: Sequence[CellOutcome]) -> dict[tuple[str, str], list[CellOutcome]]:
    """Return chain and world -> what came of their runs."""
    found: dict[tuple[str, str], list[CellOutcome]] = {}
    for one in outcomes:
        found.setdefault((one.cell.chain, one.cell.world), []).append(one)
    return found


def _costs(finished: Worlds, outcomes: Sequence[CellOutcome]) -> pd.DataFrame:
    import pandas as pd

    done = {key: [one for one in of_cell if one.evaluation is not None] for key, of_cell in _grouped(outcomes).items()}
    rows = []
    for chain, world in ((chain, world) for world, chains in finished.items() for chain in chains):
        runs = done.get((chain, world), [])
        figures = (
            [one.seconds for one in runs if one.seconds == one.seconds],
            [one.memory for one in runs if one.memory],
        )
        rows.append([chain, world, *(fmean(known) if known else math.nan for known in figures), len(runs)])
    return pd.DataFrame(rows, columns=list(COSTS)).astype({"seconds": "float64", "memory": "float64"})


def _runs(outcomes: Sequence[CellOutcome], metrics: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    rows = [
        [
            *(one.cell.chain, one.cell.world, one.cell.seed, one.seconds, one.memory or math.nan),
            *(
                "" if one.folder is None else str(one.folder),
                one.reason,
                " ".join(map(hidden_override, one.cell.overrides)),
            ),
            *(math.nan if one.evaluation is None else one.evaluation.means.get(metric, math.nan) for metric in metrics),
        ]
        for one in outcomes
    ]
    return pd.DataFrame(rows, columns=[*RUNS, *metrics])


def _cautions(
    outcomes: Sequence[CellOutcome],
    finished: Worlds,
    pivot: Mapping[str, pd.DataFrame],
    baseline: str | None,
    nouns: Nouns,
) -> Iterator[str]:
    """Yield what to know before the figures of a study are relied on."""
    failed = [one.cell for one in outcomes if one.evaluation is None]
    if failed:
        names = list(dict.fromkeys(f"{cell.chain} in {cell.world}" for cell in failed))
        yield f"{len(failed)} of {len(outcomes)} runs failed: {some(names)}"
    if baseline is not None and baseline not in {one.cell.chain for one in outcomes}:
        yield f"the baseline {baseline} is none of the chains, so nothing is held against it"
    few = [world for world, users in _users(pivot).items() if 0 < users < FEW_USERS]
    if few:
        yield f"fewer than {FEW_USERS} {nouns.users}, so intervals and tests say little: {some(few)}"
    same = _without_spread(next(iter(pivot.values())))
    if same:
        yield f"the same figures with every seed, so that a spread of 0 says nothing: {some(same)}"
    for world, chains in finished.items():
        seed = next((seed for seeds in chains.values() for seed in seeds), -1)
        runs = [replace(seeds[seed], name=chain) for chain, seeds in chains.items() if seed in seeds]
        yield from (f"{world}: {sentence}" for sentence in (differing_cards(runs) if runs else ()))
    for metric, table in pivot.items():
        rows = table[table["untested"] != ""]
        listed = [f"{row.chain} in {row.world} ({row.untested})" for row in rows.itertuples()]
        if listed:
            yield f"{metric}: not tested against the baseline: {some(listed)}"


def _without_spread(table: pd.DataFrame) -> list[str]:
    """Return the chains that have the same figure with every seed in each world where they have several."""
    spread = table.groupby("chain", sort=False)["sd"].max()
    return [str(chain) for chain, largest in spread.items() if largest <= 10.0**-DECIMALS]


def _users(pivot: Mapping[str, pd.DataFrame]) -> dict[str, int]:
    """Return the largest number of users of each world."""
    table = next(iter(pivot.values()))
    return {str(world): int(users) for world, users in table.groupby("world", sort=False)["users"].max().items()}

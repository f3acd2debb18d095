"""Benchmarks of the same rankers on the same queries, made on several machines, side by side on one page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.core.secrets import hidden_in
from recx.core.system.serialize import flat
from recx.evaluation.rules import rules
from recx.evaluation.warnings import LONGEST
from recx.experiment.saved_runs import SavedRun
from recx.jobs.benchmark.outcome import MEAN_MS
from recx.jobs.benchmark.page import document_of, readable
from recx.report.terminal.formats import figure

AGREE = 0.001
"""Two means of quality agree up to this difference: libraries and processors round differently, which may swap
documents whose scores are next to equal."""
OF_MACHINE = ("versions", "benchmark")
"""What the protocol card says of the machine, not of what was judged."""
MEASURING = ("warmup", "budgets", "batch_sizes", "parallel")
"""Settings that say how calls were measured, which latencies are to be read with."""
SAME = ("platform", "processor", "cores", "threads", "versions")
"""Facts by which one machine is told from another."""

OF_DOCUMENT, OF_SETTINGS = (
    ("settings", "machine", "queries", "rankers", "cautions"),
    ("quality", "rankers", "retrievers"),
)
OF_RANKER = ("name", "reason", "quality", "figures", "on_front")
"""Keys of ``benchmark.json`` that are read here."""


@dataclass(frozen=True, eq=False)
class Made:
    """A benchmark that was made on a machine.

    Attributes:
        name: The name of its folder.
        document: Its ``benchmark.json``.
        protocol: The rules by which it was judged, by flat names.
    """

    name: str
    document: Mapping[str, Any]
    protocol: Mapping[str, str]

    @property
    def finished(self) -> dict[str, Mapping[str, Any]]:
        """Name -> facts of each ranker that finished."""
        return {row["name"]: row for row in self.document["rankers"] if not row["reason"]}

    def option(self, name: str) -> dict[str, str]:
        """Return how a ranker, or a pair of a retriever and a ranker, was configured: setting -> value."""
        settings = self.document["settings"]
        retriever, plus, ranker = name.rpartition(" + ")
        retrievers = [settings["retrievers"].get(retriever)] if plus else [*settings["retrievers"].values()]
        chosen = {f"retriever {number}": option for number, option in enumerate(retrievers)}
        return {key: str(value) for key, value in flat({"ranker": settings["rankers"].get(ranker), **chosen}).items()}


@dataclass(frozen=True, eq=False)
class Machines:
    """Benchmarks on several machines.

    Attributes:
        made: One per machine, with distinct names.
        comparable: Names of the rankers that are the same on all machines: equal settings, and a quality that agrees.
        apart: Name of each other ranker -> why it is not comparable.
        warnings: What to know before relying on the figures.
    """

    made: Sequence[Made]
    comparable: Sequence[str]
    apart: Mapping[str, str]
    warnings: Sequence[str]

    @property
    def quality(self) -> str:
        """The metric that is weighed against latency."""
        return str(self.made[0].document["settings"]["quality"])

    @property
    def conclusions(self) -> list[str]:
        """What is comparable, how the machines' latencies differ, and what each machine's budget recommends."""
        return list(self._conclusions())

    def _conclusions(self) -> Iterator[str]:
        if self.comparable:
            yield f"comparable, since settings and quality (to within {AGREE:g}) agree: {', '.join(self.comparable)}"
        for name, why in self.apart.items():
            yield f"not comparable: {name}, {why}"
        first = self.made[0]
        rankers = [name for name in self.comparable if not first.finished[name].get("yardstick")]
        for made in self.made[1:]:
            ratios = [ratio for name in rankers if (ratio := _ratio(first, made, name)) > 0]
            if ratios:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                ends = f", {min(ratios):.3g} to {max(ratios):.3g}" if len(ratios) > 1 else ""
                of = f"geometric mean over {len(ratios)} rankers{ends}" if len(ratios) > 1 else rankers[0]
                yield f"a query takes {mean:.3g} times as long on {made.name} as on {first.name} ({of}; mean latencies)"
        for made in self.made:
            for said in made.document.get("recommended", {}).get("said", ()):
                yield f"on {made.name}, {said}"


def machines_of(folders: Sequence[Path], anyway: bool = False) -> Machines:
    """Read benchmarks that were made on several machines, and find out which of their rankers are comparable.

    Args:
        folders: Of the benchmarks.
        anyway: Whether to show those of other queries or protocols too, of which nothing is comparable.

    Raises:
        InputError: A folder is named twice, a file is missing or damaged, no ranker finished, or the benchmarks are
            not of the same queries and protocol.
    """
    made = [_read(folder, name) for folder, name in zip(folders, _names(folders), strict=True)]
    differing = list(_differing(made))
    if differing and not anyway:
        raise InputError(
            f"report: {differing[0]}, so the figures of these benchmarks cannot stand side by side: run them on the "
            "same data with the same settings, or show them anyway (--anyway), with nothing compared"
        )
    names = list(dict.fromkeys(name for one in made for name in one.finished))
    apart = {name: why for name in names if (why := _why_not(made, name))}
    if differing:
        apart = dict.fromkeys(names, "the benchmarks are not of the same queries and protocol")
    warnings = [*differing, *_unlike_measuring(made), *_one_machine(made)]
    warnings += [f"{one.name}: {said}" for one in made for said in one.document["cautions"]]
    return Machines(made, [name for name in names if name not in apart], apart, warnings)


def _names(folders: Sequence[Path]) -> list[str]:
    """Return the names of folders, with as many of the folders above as make them distinct.

    Raises:
        InputError: A folder is named twice.
    """
    whole = [folder.resolve() for folder in folders]
    if len(set(whole)) < len(whole):
        twice = next(folder for folder, place in zip(folders, whole, strict=True) if whole.count(place) > 1)
        raise InputError(f"report: {twice} is named twice: name the benchmarks of several machines, each once")
    parts = 1
    while len({place.parts[-parts:] for place in whole}) < len(whole):
        parts += 1
    return ["/".join(place.parts[-parts:]) for place in whole]


def _read(folder: Path, name: str) -> Made:
    document = document_of(folder)
    with readable(folder):
        of_all = [(document, OF_DOCUMENT), (document["settings"], OF_SETTINGS)]
        for facts, names in [*of_all, *((row, OF_RANKER) for row in document["rankers"])]:
            if missing := [key for key in names if key not in facts]:
                raise KeyError(missing[0])
        if all(row["reason"] for row in document["rankers"]):
            raise InputError(f"{folder}: no ranker of this benchmark finished, so there is nothing to show of it")
    card = hidden_in(SavedRun(folder).protocol)
    judged = {rule: value for rule, value in rules(card).items() if rule not in OF_MACHINE}
    return Made(name, document, flat(judged))


def _differing(made: Sequence[Made]) -> Iterator[str]:
    """Yield why benchmarks cannot be compared with the first: another fold, other queries, another protocol."""
    first = made[0]
    for one in made[1:]:
        both = f"{first.name} and {one.name}"
        ours, theirs = first.protocol, one.protocol
        if ours.get("fold") != theirs.get("fold"):
            yield f"{both} are of different folds ({ours.get('fold')}, {theirs.get('fold')})"
        elif ours.get("truth") != theirs.get("truth"):
            queries = [f"{of.document['queries']:,}" for of in (first, one)]
            yield f"{both} are of different queries or judgements ({' and '.join(queries)} queries)"
        elif (mine := first.document["settings"]["quality"]) != (other := one.document["settings"]["quality"]):
            yield f"benchmark.quality is {mine} in {first.name} and {other} in {one.name}"
        else:
            rule = _first_differing(ours, theirs)
            if rule is not None:
                shown = [_cut(str(of.get(rule, "nothing"))) for of in (ours, theirs)]
                yield f"the protocols of {both} differ ({rule}: {shown[0]} vs {shown[1]})"


def _first_differing(one: Mapping[str, str], other: Mapping[str, str]) -> str | None:
    return next((name for name in {**one, **other} if one.get(name) != other.get(name)), None)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _why_not(made: Sequence[Made], name: str) -> str:
    """Return why the rows of a name are not comparable on all machines; "" if they are."""
    for one in made:
        if name not in one.finished:
            failed = next((row["reason"] for row in one.document["rankers"] if row["name"] == name), None)
            return f"which is not in {one.name}" if failed is None else f"which failed in {one.name}: {failed}"
    first = made[0]
    for one in made[1:]:
        mine, other = first.option(name), one.option(name)
        setting = _first_differing(mine, other)
        if setting is not None:
            shown = [_cut(of.get(setting, "nothing")) for of in (mine, other)]
            return f"whose {setting} is {shown[0]} in {first.name} and {shown[1]} in {one.name}"
        ours, theirs = first.finished[name]["quality"], one.finished[name]["quality"]
        for metric in (metric for metric in ours if metric in theirs):
            a, b = (_number(of[metric]["mean"]) for of in (ours, theirs))
            if not (abs(a - b) <= AGREE or (math.isnan(a) and math.isnan(b))):
                values = f"{figure(a)} in {first.name}, {figure(b)} in {one.name}"
                return f"whose {metric} differs ({values}): its lists are not the same"
    return ""


def _ratio(first: Made, other: Made, name: str) -> float:
    """Return how many times as long a query takes on another machine; NaN if that was not measured."""
    ours, theirs = (_number(made.finished[name]["figures"].get(MEAN_MS)) for made in (first, other))
    return theirs / ours if ours > 0 else math.nan


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _unlike_measuring(made: Sequence[Made]) -> Iterator[str]:
    """Yield which settings of the measurement differ, which latencies are to be read with."""
    for name in MEASURING:
        values = [str(one.document["settings"].get(name)) for one in made]
        if len(set(values)) > 1:
            shown = ", ".join(f"{value} in {one.name}" for value, one in zip(values, made, strict=True))
            yield f"calls were not measured alike: benchmark.{name} is {shown}"


def _one_machine(made: Sequence[Made]) -> Iterator[str]:
    """Yield a sentence if two benchmarks seem to be of one machine."""
    facts = [[str(one.document["machine"].get(name)) for name in SAME] for one in made]
    for place, mine in enumerate(facts):
        if mine in facts[:place]:
            yield f"{made[facts.index(mine)].name} and {made[place].name} seem to be of one machine: all facts agree"

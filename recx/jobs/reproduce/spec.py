"""The file of a reproduction, ``conf/reproduction/NAME.yaml``: a study, its data, and the figures that it should give.

    title: EASE on Amazon Beauty
    paper: Steck, Embarrassingly Shallow Autoencoders (WWW 2019), https://...
    data:
      where: https://...                                    # where to get it, and under which name
      files: {Beauty.txt.gz: 5f1c...}                       # sha256 of what a file holds, unpacked; null: not known
      counts: {beauty: {users: 22363, events: 198502}}      # of each world, before filters
    notes: why a figure differs, and what the protocol leaves open
    expected:
      - {chain: ease, world: beauty, origin: paper, source: Table 2, tolerance: 0.0005,
         figures: {ndcg_at_10: 0.0434}, measured: {ndcg_at_10: 0.0434}}
    metrics, seeds, chains, worlds ...                      # as in a study; {data} stands for the folder of data=DIR

``measured`` is what a run of this file gave; a figure without it has no verdict. Where lists of another program are
evaluated, ``lists`` takes the place of the study: ``{NAME: {run: FILE, grades: FILE, rel_threshold: 1}}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from annotated_types import Predicate, doc

from recx.config import option_sources
from recx.core.bounds import NonNegativeFloat, NonNegativeInt, PositiveFloat, check, coerce
from recx.core.errors import InputError, did_you_mean
from recx.jobs.study.spec import KEYS as OF_A_STUDY
from recx.jobs.study.spec import StudySpec, content_of, file_of, spec_of

GROUP = "reproduction"
"""The folder of option files, in ``conf``, that holds reproductions."""
ORIGINS = {"paper": "published", "library": "another library", "recx": "recx"}
"""Whose figure is expected, published or computed on the same data -> the word for it."""
STAGE = "end_to_end"
COUNTS = ("users", "items", "events")
Part = TypeVar("Part")
Sha256 = Annotated[str, Predicate(re.compile("[0-9a-f]{64}").fullmatch), doc("64 hexadecimal digits")]


@dataclass(frozen=True)
class Data:
    """The data of a reproduction.

    Attributes:
        where: Where to get it.
        files: Name of a file in the folder -> SHA-256 of its content, unpacked if it ends with ``.gz``; None: unknown.
        counts: World -> users, items and events of its data before filters, as far as they are known.
    """

    where: str
    files: Mapping[str, Sha256 | None]
    counts: Mapping[str, Mapping[str, NonNegativeInt]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self, "data")
        for world, counts in self.counts.items():
            unknown = next((one for one in counts if one not in COUNTS), None)
            if unknown is not None:
                raise InputError(f"data.counts.{world}.{unknown}: {did_you_mean(unknown, COUNTS)}")


@dataclass(frozen=True)
class GivenLists:
    """Lists that another program made, which are evaluated as they are.

    Attributes:
        run: The file of the lists, such as a run of TREC.
        grades: The file of the judgements.
        rel_threshold: The grade from which an item is relevant.
        first: How many of each list count; None: all.
    """

    run: str
    grades: str
    rel_threshold: PositiveFloat = 1.0
    first: NonNegativeInt | None = None

    def __post_init__(self) -> None:
        check(self, "lists")


@dataclass(frozen=True)
class Expected:
    """Figures of a chain in a world, from one source.

    Attributes:
        world: The world, or the name of the lists.
        chain: The chain; "" for given lists.
        model: A model that no chain of the file is, whose figures stand beside and have no verdict; "": none.
        origin: Whose figures they are, one of ``ORIGINS``.
        source: Where they stand, or how they were made.
        tolerance: The largest difference that is none, which ``source`` or the notes give the reason for.
        figures: Metric -> expected value.
        measured: Metric -> value that a run of this file gave.
    """

    world: str
    origin: Literal["paper", "library", "recx"]
    source: str
    tolerance: NonNegativeFloat
    figures: Mapping[str, float]
    chain: str = ""
    model: str = ""
    measured: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self, "expected")
        if not self.figures or not self.source:
            raise InputError("expected: an entry needs figures and their source")
        if self.model and (self.chain or self.measured):
            raise InputError(
                f"expected.model={self.model}: no chain of the file is it, so it has neither chain nor measured"
            )
        for name in self.measured:
            if name not in self.figures:
                raise InputError(
                    f"expected.measured.{name}: nothing is expected of it: {did_you_mean(name, self.figures)}"
                )


@dataclass(frozen=True)
class Reproduction:
    """What the file of a reproduction says.

    Attributes:
        name: Its name.
        file: Its file, for errors.
        title: What it reproduces, in a line.
        paper: The paper or program that the figures are from, with its address.
        data: The data.
        expected: The figures.
        notes: Why figures differ, what is open, why it was not run.
        study: The study that gives the figures; None where lists are given.
        content: The same, key by key.
        lists: Name -> lists that are evaluated.
    """

    name: str
    file: Path
    title: str
    paper: str
    data: Data
    expected: Sequence[Expected]
    notes: str = ""
    study: StudySpec | None = None
    content: Mapping[str, Any] = field(default_factory=dict)
    lists: Mapping[str, GivenLists] = field(default_factory=dict)


KEYS = ("title", "paper", "data", "expected", "notes", "lists")
"""The keys of a file besides those of a study."""


def names() -> list[str]:
    """Return the names of all reproductions, of recx, plugins and the person's own conf."""
    return [name.partition("/")[2] for name in option_sources.options() if name.startswith(f"{GROUP}/")]


def load(name: str) -> Reproduction:
    """Return a reproduction by its name or the path of its file.

    Raises:
        InputError: There is none, or its file is wrong; the message names file and key.
    """
    file = file_of(name, GROUP)
    content = content_of(file)
    own = {key: content.pop(key) for key in KEYS if key in content}
    try:
        unknown = next((key for key in content if key not in OF_A_STUDY), None)
        if unknown is not None:
            near = did_you_mean(unknown, [*KEYS, *OF_A_STUDY])
            raise InputError(f"{unknown}: a reproduction has no such key: {near}")
        lists = {one: _part(GivenLists, value, f"lists.{one}") for one, value in _mapping(own, "lists").items()}
        if bool(lists) == bool(content):
            raise InputError("a reproduction has either lists, or the chains and worlds of a study")
        found = Reproduction(
            name=file.name.removesuffix(".yaml").removesuffix(".yml"),
            file=file,
            title=_text(own, "title"),
            paper=_text(own, "paper"),
            data=_part(Data, own.get("data"), "data"),
            expected=[_expected(one, not lists) for one in coerce(own.get("expected"), tuple[Any, ...], "expected")],
            notes=coerce(own.get("notes", ""), str, "notes").strip(),
            lists=lists,
        )
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    if content:
        found = replace(found, study=spec_of(content, file), content=content)
    _check(found)
    return found


def _check(found: Reproduction) -> None:
    """Check that something is expected, and of nothing but what is measured."""
    if not found.expected:
        raise InputError(f"{found.file}: expected: it is empty: a reproduction needs a figure and its source")
    chains: Sequence[str] = [""]
    worlds: Sequence[str] = list(found.lists)
    if found.study is not None:
        chains, worlds = list(found.study.chains), list(found.study.worlds)
    for key, wanted, known in (
        *(("chain", one.chain, chains) for one in found.expected if not one.model),
        *(("world", one.world, worlds) for one in found.expected),
        *(("world", one, worlds) for one in found.data.counts),
    ):
        if wanted not in known:
            raise InputError(
                f"{found.file}: expected: {key} {wanted!r} is none of its own: {did_you_mean(wanted, known)}"
            )
    if found.study is not None:
        for metric in {metric for one in found.expected for metric in one.figures}:
            if metric not in found.study.metrics:
                raise InputError(f"{found.file}: metrics: {metric} is expected and not among them: add it")


def _text(own: Mapping[str, Any], key: str) -> str:
    text: str = coerce(own.get(key), str, key)
    if not text.strip():
        raise InputError(f"{key} is empty: a reproduction needs one")
    return text.strip()


def _mapping(own: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = own.get(key) or {}
    if not isinstance(value, Mapping):
        raise InputError(f"{key}: write NAME: VALUE for each")
    return value


def _expected(value: Any, staged: bool) -> Expected:
    """Return an entry, with the full names of metrics where runs have stages."""
    found = _part(Expected, value, "expected")
    if not staged:
        return found
    return replace(found, figures=_full(found.figures), measured=_full(found.measured))


def _full(figures: Mapping[str, float]) -> dict[str, float]:
    return {name if "/" in name else f"{STAGE}/{name}": value for name, value in figures.items()}


def _part(kind: type[Part], value: Any, key: str) -> Part:
    """Return a dataclass made of a mapping of the file."""
    known = [one.name for one in fields(kind)]  # type: ignore[arg-type]  # which no bound of a TypeVar says
    if not isinstance(value, Mapping):
        raise InputError(f"{key}: write a mapping of {', '.join(known)}")
    unknown = next((one for one in value if one not in known), None)
    if unknown is not None:
        raise InputError(f"{key}.{unknown}: there is no such key: {did_you_mean(str(unknown), known)}")
    try:
        return kind(**value)
    except TypeError as error:  # a key without a default is missing
        raise InputError(f"{key}: {str(error).partition('() ')[2]}: give each a value") from None

"""What a benchmark says in words, each sentence with the figures behind it, and what to be careful about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recx.evaluation.warnings import SIGNIFICANT
from recx.jobs.benchmark.figures import best, in_words
from recx.jobs.benchmark.outcome import Outcome, Row
from recx.jobs.benchmark.timing import FEWEST


def conclusions(outcome: Outcome) -> list[str]:
    """Return sentences that name the best quality, the lowest latency, the best balance and the front."""
    return [*_quality(outcome), *_latency(outcome), *_balance(outcome), *_front(outcome)]


def _quality(outcome: Outcome) -> Iterator[str]:
    rows, metric = outcome.finished, outcome.settings.quality
    place = best([outcome.quality(row) for row in rows])
    if place is None:
        return
    value, low, high = rows[place].quality[metric]
    alike = [f"{name} (p {p:.3f})" for name, p in outcome.told_apart.items() if not p < SIGNIFICANT]
    end = f"; not told apart from {', '.join(alike)}" if alike else ""
    yield f"best quality: {rows[place].name}, {metric} {value:.4f} ({low:.4f} to {high:.4f}){end}"


def _latency(outcome: Outcome) -> Iterator[str]:
    rows = outcome.finished
    place = best([row.figures.get("latency/mean_ms", float("nan")) for row in rows], least=True)
    if place is not None:
        figures = rows[place].figures
        yield (
            f"lowest latency: {rows[place].name}, {ms(figures['latency/mean_ms'])} ms a query on average, "
            f"p95 {ms(figures['latency/p95_ms'])} ms"
        )


def _balance(outcome: Outcome) -> Iterator[str]:
    """Name the best score; where that is a row no better than the first, also the best of those that are better."""
    rows = outcome.finished
    place = best([outcome.score(row) for row in rows])
    if place is None:
        return
    yield f"best balance: {_scored(outcome, rows[place])}"
    better = [row for row in rows if _beats_first(outcome, row)]
    if better and rows[place] not in better:
        of = best([outcome.score(row) for row in better])
        assert of is not None
        first, metric = outcome.rows[0].name, outcome.settings.quality
        yield f"best balance of those above {first} in {metric} (p < {SIGNIFICANT:g}): {_scored(outcome, better[of])}"


def _scored(outcome: Outcome, row: Row) -> str:
    weight, mean = outcome.settings.weight(row.ranker), row.figures["latency/mean_ms"]
    return (
        f"{row.name}, {outcome.settings.quality} {outcome.quality(row):.4f} / ({ms(mean)} ms x {weight:g}) = "
        f"{outcome.score(row):.4g}"
    )


def _beats_first(outcome: Outcome, row: Row) -> bool:
    test = outcome.test(row, outcome.settings.quality)
    return test is not None and bool(test["difference"] > 0 and test["p_holm"] < SIGNIFICANT)


def _front(outcome: Outcome) -> Iterator[str]:
    if outcome.on_front:
        named = [row.name for row in outcome.finished if row.name in outcome.on_front]
        others = [row.name for row in outcome.finished if row.name not in outcome.on_front]
        beaten = f"; in no way better than one of these: {', '.join(others)}" if others else ""
        yield f"front of {outcome.settings.quality}, p95 latency and cost: {', '.join(named)}{beaten}"


def cautions(outcome: Outcome) -> list[str]:
    """Return what is to be known before the figures are believed."""
    side_by_side = (
        "rankers ran side by side (benchmark.parallel), where each would slow the others down: latency, throughput and "
        "memory were not measured"
    )
    found = [*_failures(outcome), *(_of_clock(outcome) if outcome.settings.clocked else [side_by_side])]
    cached = ", ".join(f"{row.name} on {row.measured_at}" for row in outcome.finished if row.cached)
    if cached:
        found.append(
            f"measured before, in whole or in part, with the same model, data and settings: {cached} (cache=off "
            "measures anew)"
        )
    found += [
        f"{row.name}: {row.differ} of {row.queries} lists differ in batches of {outcome.settings.batch_size}"
        for row in outcome.finished
        if row.differ
    ]
    return [*found, *outcome.warnings]


def _of_clock(outcome: Outcome) -> Iterator[str]:
    n = min((row.queries for row in outcome.finished), default=max(FEWEST.values()))
    few = [f"p{q}" for q, least in FEWEST.items() if n < least]
    if few:
        least = max(FEWEST[q] for q in FEWEST if n < FEWEST[q])
        yield f"{n} queries are too few for {' and '.join(few)}: measure {least} or more"
    cores = outcome.machine.get("cores") or 1
    busy = {row.name: row.load for row in outcome.finished if row.load > cores}
    if busy:
        yield (
            "latencies are too high, since the machine was busy with other work (load "
            f"{max(busy.values()):.1f} on {cores} cores): {', '.join(busy)}"
        )
    settings = outcome.settings
    measured = {**settings.rankers, **(settings.retrievers if settings.retrieves else {})}
    keeping = [name for name, chosen in measured.items() if _keeps(getattr(chosen, "option", None))]
    if keeping:
        yield (
            "vectors of texts that were encoded before are read from a folder (the encoder's cache; null: none), which "
            f"makes latencies too low: {', '.join(keeping)}"
        )


def _keeps(option: object) -> bool:
    """Return whether a part, or a part in it, keeps in a folder what it made."""
    return isinstance(option, Mapping) and (bool(option.get("cache")) or any(map(_keeps, option.values())))


def _failures(outcome: Outcome) -> Iterator[str]:
    for row in outcome.failed:
        yield f"{row.name} failed: {row.reason}"
    if outcome.rows[0].reason and len(outcome.rows) > 1:
        yield f"no test was made, since {outcome.rows[0].name}, which all are tested against, failed"


def sampled(outcome: Outcome) -> str:
    """Return how many queries and documents there were, and how many of each grade."""
    row = next(iter(outcome.finished), None)
    if row is None:
        return "no ranker finished"
    of = "all" if row.queries == row.queries_in_all else f"a sample of {row.queries_in_all:,}"
    words = {words.partition(" "): count for words, count in in_words(row.grades).items()}
    grades = ", ".join(f"{count:,} {word or f'of grade {grade}'}" for (grade, _, word), count in words.items())
    if outcome.settings.retrieves:  # whose documents differ
        return f"{row.queries:,} queries ({of})"
    return f"{row.queries:,} queries ({of}), {row.documents:,} documents: {grades}"


def ms(value: float) -> str:
    """Return milliseconds with three digits that count."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 1e-4 else f"{value:.7f}"

"""The conclusions of a benchmark in sentences, each with the figures behind it, and the cautions to read first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from recx.evaluation.warnings import SIGNIFICANT
from recx.jobs.benchmark.figures import grades_as_text
from recx.jobs.benchmark.not_told_apart import not_told_apart
from recx.jobs.benchmark.outcome import COST, MEAN_MS, P95_MS, Outcome, Row, best
from recx.jobs.benchmark.timing import FEWEST, ms
from recx.report.terminal.formats import figure

FEW = 100
"""Below this number of queries, the width of the intervals is said."""


def conclusions(outcome: Outcome) -> list[str]:
    """Return sentences that name the best quality, the lowest latency, the best balance and the front.

    A yardstick, which does nothing in no time, is no candidate for the lowest latency or the best balance.
    """
    return list(_conclusions(outcome))


def _conclusions(outcome: Outcome) -> Iterator[str]:
    rows, metric = outcome.finished, outcome.settings.quality
    row = best(rows, outcome.quality)
    if row is not None:
        mean, low, high = row.quality[metric]
        yield f"best quality: {row.name}, {metric} {mean:.4f} ({figure(low)} to {figure(high)})"
        yield from not_told_apart(outcome, row)
    yield from _quick(outcome, [row for row in rows if not outcome.is_yardstick(row)])
    for row in filter(outcome.is_yardstick, rows):
        yield (
            f"yardstick: {row.name} keeps the order of the candidates, {metric} {outcome.quality(row):.4f}, and is no "
            "candidate for the lowest latency or the best balance"
        )
    if outcome.on_front:
        on, off = (", ".join(row.name for row in rows if (row.name in outcome.on_front) is on) for on in (True, False))
        dominated = f"; dominated by one of these: {off}" if off else ""
        yield f"front of {metric}, p95 latency and cost: {on}{dominated}"
    yield from outcome.recommended.get("said", ())


def _quick(outcome: Outcome, rows: Sequence[Row]) -> Iterator[str]:
    """Yield which of these rows has the lowest latency, and which the best balance."""
    row = best(rows, lambda row: -row.figure(MEAN_MS))
    if row is not None:
        average, p95 = ms(row.figure(MEAN_MS)), ms(row.figure(P95_MS))
        yield f"lowest latency: {row.name}, {average} ms per query on average, p95 {p95} ms"
    row = best(rows, outcome.score)
    if row is not None:
        yield f"best balance: {_scored(outcome, row)}"
        better = [row for row in rows if _beats_first(outcome, row)]
        other = best(better, outcome.score)
        if other is not None and row not in better:
            first, metric = outcome.rows[0].name, outcome.settings.quality
            yield f"best balance above {first} in {metric} (p < {SIGNIFICANT:g}): {_scored(outcome, other)}"


def _scored(outcome: Outcome, row: Row) -> str:
    weight, mean = outcome.settings.weight(row.ranker), ms(row.figure(MEAN_MS))
    quality = f"{outcome.settings.quality} {outcome.quality(row):.4f}"
    return f"{row.name}, {quality} / ({mean} ms x {weight:g}) = {outcome.score(row):.4g}"


def _beats_first(outcome: Outcome, row: Row) -> bool:
    test = outcome.test(row, outcome.settings.quality)
    return test is not None and bool(test["difference"] > 0 and test["p_holm"] < SIGNIFICANT)


def cautions(outcome: Outcome) -> list[str]:
    """Return what to know before relying on the figures."""
    return [*_cautions(outcome), *outcome.warnings]


def _cautions(outcome: Outcome) -> Iterator[str]:
    yield from _few_queries(outcome)
    for row in outcome.failed:
        yield f"{row.name} failed: {row.reason}"
    if outcome.rows[0].reason and len(outcome.rows) > 1:
        yield f"no tests were made, since {outcome.rows[0].name}, the baseline of all of them, failed"
    if outcome.settings.clocked:
        yield from _timing_cautions(outcome)
    else:
        yield (
            "rankers ran in parallel (benchmark.parallel) and would slow each other down: latency, throughput and "
            "memory were not measured"
        )
    cached = ", ".join(f"{row.name} on {row.measured_at}" for row in outcome.finished if row.cached)
    if cached:
        yield (
            f"measured before, in whole or in part, with the same model, data and settings: {cached} (cache=off "
            "measures again)"
        )
    yield from _of_passes(outcome)


def _few_queries(outcome: Outcome) -> Iterator[str]:
    """Yield how wide the widest interval of the compared metric is if it is of fewer than ``FEW`` queries."""
    metric = outcome.settings.quality
    rows = [row for row in outcome.finished if row.queries < FEW and metric in row.quality]
    widths = {row.name: row.interval(metric)[2] - row.interval(metric)[1] for row in rows}
    widest = best(rows, lambda row: widths[row.name])
    if widest is None:
        return
    _, low, high = widest.interval(metric)
    tested = [test["difference_high"] - test["difference_low"] for test in outcome.against_best]
    of_tests = f", and that of a difference from the best up to {max(tested):.4f}" if tested else ""
    yield (
        f"{widest.queries} queries are few: the 95 % interval of {metric} is up to {widths[widest.name]:.4f} wide "
        f"({widest.name}: {figure(low)} to {figure(high)}){of_tests}: use {FEW} queries or more"
    )


def _of_passes(outcome: Outcome) -> Iterator[str]:
    """Yield what is to be known of the passes with fewer documents, and with several queries per call."""
    settings = outcome.settings
    for row in outcome.finished:
        if row.differ:
            sizes = [f"{of['queries_per_call']:.0f}" for of in row.batches if of["queries_per_call"] > 1]
            yield f"{row.name}: {row.differ} of {row.queries} lists differ in batches of {' or '.join(sizes)}"
        if row.left_out:
            yield (
                f"{row.name}: no time was left to measure {', '.join(row.left_out)}: raise benchmark.timeout_s "
                f"({settings.timeout_s:g}) or take fewer benchmark.budgets and benchmark.batch_sizes"
            )
    largest = max(settings.batch_sizes or (1,))
    n = min((row.queries for row in outcome.finished), default=largest)
    if settings.clocked and n < largest:
        yield f"calls of {largest} queries (benchmark.batch_sizes) were not measured, since there are only {n}"
    unordered = [row.name for row in outcome.finished if row.unordered and outcome.budgets.get(row.name)]
    if unordered:
        whose = "" if len(unordered) == len(outcome.finished) else f" of {', '.join(unordered)}"
        yield (
            f"all candidates{whose} have the same score, so the first documents of a query (benchmark.budgets) are any "
            "of its documents: give the data the scores or ranks of a first search, or choose a retriever"
        )
    if "cost_per_1000" in settings.limits:
        free = [row.name for row in outcome.finished if not row.figure(COST) and not outcome.is_yardstick(row)]
        if free:
            yield (
                f"no price is given for {', '.join(free)} (benchmark.cost_per_query, benchmark.cost_per_document): "
                "they count as free"
            )


def _timing_cautions(outcome: Outcome) -> Iterator[str]:
    n = min((row.queries for row in outcome.finished), default=max(FEWEST.values()))
    few = {f"p{q}": least for q, least in FEWEST.items() if n < least}
    if few:
        yield f"{n} queries are too few for {' and '.join(few)}: measure {max(few.values())} or more"
    cores = outcome.machine.get("cores") or 1
    busy = {row.name: row.load for row in outcome.finished if row.load > cores}
    if busy:
        yield (
            "latencies are too high, since the machine was busy with other work (load "
            f"{max(busy.values()):.1f} on {cores} cores): {', '.join(busy)}"
        )
    settings = outcome.settings
    measured = {**settings.rankers, **(settings.retrievers if settings.retrieves else {})}
    caching = [name for name, chosen in measured.items() if _caches(getattr(chosen, "option", None))]
    if caching:
        yield (
            "what was made before, vectors of texts or answers of a model, is read from a folder (the setting cache of "
            f"encoder or ranker; null: none), which makes latencies too low: {', '.join(caching)}"
        )


def _caches(option: object) -> bool:
    """Return whether a part, or a part in it, has a cache folder."""
    return isinstance(option, Mapping) and (bool(option.get("cache")) or any(map(_caches, option.values())))


def sampled(outcome: Outcome) -> str:
    """Return how many queries and documents there were, and how many of each grade."""
    row = next(iter(outcome.finished), None)
    if row is None:
        return "no ranker finished"
    of = "all" if row.queries == row.queries_in_all else f"a sample of {row.queries_in_all:,}"
    if outcome.settings.retrieves:  # whose documents differ
        return f"{row.queries:,} queries ({of})"
    named = {text.partition(" "): count for text, count in grades_as_text(row.grades).items()}
    grades = ", ".join(f"{count:,} {name or f'of grade {grade}'}" for (grade, _, name), count in named.items())
    return f"{row.queries:,} queries ({of}), {row.documents:,} documents: {grades}"

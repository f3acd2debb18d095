"""Measures the page of a large run: `python benchmarks/report.py`, or `python benchmarks/run.py report`.

A run of generated news, 40,000 users with 100 candidates each, writes its files as usual; what is timed is
making its page and the data of the page. Prints one Markdown table.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from recx.config.compose import compose, plain
from recx.experiment import build, protocol_card, saved_runs
from recx.report.page.write import PAGE, write

READERS = 51_200  # of whom 40,000 have requests
OVERRIDES = ["+experiment=news", f"dataset.readers={READERS}", "n_candidates=100", "tracker=console"]
SECONDS, MEGABYTES = 5, 5


def measured() -> Iterator[tuple[str, str, str]]:
    """Yield (what, measured, aim), row by row."""
    config = plain(compose(OVERRIDES))
    result = build.experiment(config).run()
    card = protocol_card.card(result, config)
    size = f"{len(result.split.fold.requests):,} users x {config['n_candidates']} candidates"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        saved_runs.save(result, folder, config, card)
        start = time.perf_counter()
        write(result, folder, config, card)
        seconds = time.perf_counter() - start
        megabytes = (folder / PAGE).stat().st_size / 1e6
    yield f"report.html of {size}: written in", f"{seconds:.1f} s", f"< {SECONDS} s"
    yield f"report.html of {size}: size", f"{megabytes:.2f} MB", f"< {MEGABYTES} MB"


if __name__ == "__main__":
    print("| what | measured | aim |\n| --- | --- | --- |")
    for row in measured():
        print(f"| {' | '.join(row)} |", flush=True)

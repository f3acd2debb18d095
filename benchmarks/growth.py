"""How time and memory grow with users, items and events: `python benchmarks/run.py scale`, which also draws growth.svg.

One of the three is made four times smaller and four times larger, with the others as they are; clicks are made up as in
benchmarks/scale.py. The exponent of a cost is the slope of the line through its logarithms: 1 where it doubles with the
size. The same clicks go to implicit's item-kNN where IMPLICIT_PYTHON names a Python that has it, and to RecTools'
two stages (item-kNN and popularity, then CatBoost) where RECTOOLS_PYTHON does; all costs are of whole processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from operator import attrgetter
from pathlib import Path

import numpy as np
from run import HERE, Cost, run
from scale import ALONE, Row, chain, file_of

from recx.core.system.atomic import write_text
from recx.report.charts.charts import lines
from recx.report.charts.figures import document
from recx.report.charts.svg import Chart

MIDDLE = {"users": 1e5, "items": 5e4, "events": 2e6}
FACTORS = (0.25, 1.0, 4.0)
STEPS = ("load", "split", "fit_retriever", "retrieve", "fit_ranker", "rank", "evaluate")
PEERS = {"implicit": "IMPLICIT_PYTHON", "rectools": "RECTOOLS_PYTHON"}
MOST = 10.0
"""Gigabytes that a peer may ask for: without a limit, one of them takes all memory of a machine of 24."""
PROCESSOR, MEMORY = attrgetter("processor"), attrgetter("gigabytes")
Program = Callable[[Path], Cost]


def programs() -> dict[str, Program]:
    """Return what is measured by name: two chains, and the peers that are there."""
    found: dict[str, Program] = {
        "item_knn + identity": lambda path: chain(path, *ALONE),
        "union + linear": chain,
    }
    for name, variable in PEERS.items():
        if python := os.environ.get(variable):
            found[name] = _peer(name, python)
    return found


def _peer(name: str, python: str) -> Program:
    return lambda path: run(str(path), module=(str(HERE / f"scale_{name}.py"),), python=python, most=MOST)


@dataclass(frozen=True)
class Growth:
    """The costs of one program at several values of one size.

    Attributes:
        sizes: The values.
        costs: The cost at each.
    """

    sizes: list[float] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)

    def exponent(self, cost: Callable[[Cost], float]) -> float:
        """Return the slope of the logarithm of a cost over that of the size, by least squares; NaN of one alone."""
        spent = np.array([cost(one) for one in self.costs])
        fits = np.isfinite(spent)
        if fits.sum() < 2:
            return nan
        return float(np.polyfit(np.log(self.sizes)[fits], np.log(np.maximum(spent[fits], 1e-3)), 1)[0])

    @property
    def row(self) -> str:
        """The costs, and the exponents of the whole process and of the steps that take a tenth of a second."""
        pairs = zip(self.sizes, self.costs, strict=True)
        shown = (f"{size:,.0f}: {_cost(cost)}" for size, cost in pairs)
        steps = [step for step in STEPS if self.costs[-1].metrics.get(f"time/{step}", 0) > 0.1]
        of_steps = [f"{step} {self.exponent(lambda cost, s=step: cost.metrics[f'time/{s}']):.2f}" for step in steps]
        grows = [f"processor {self.exponent(PROCESSOR):.2f}", f"memory {self.exponent(MEMORY):.2f}", *of_steps]
        return f"{', '.join(shown)}; exponents: {', '.join(grows)}"


def _cost(cost: Cost) -> str:
    return f"over {MOST:.0f} GB" if isnan(cost.processor) else f"{cost.processor:.0f} s, {cost.gigabytes:.2f} GB"


def figures() -> Iterator[Row]:
    """Yield how every program grows with each size, and draw it; then item-kNN alone against the items in use."""
    measured: dict[str, dict[str, Growth]] = {}
    middle: dict[str, Cost] = {}
    for what in MIDDLE:
        grown = measured[what] = {name: Growth() for name in programs()}
        for factor in FACTORS:
            with file_of(**{**MIDDLE, what: MIDDLE[what] * factor}) as path:
                for name, program in programs().items():
                    cost = middle[name] if factor == 1 and name in middle else program(path)
                    if factor == 1:
                        middle[name] = cost
                    grown[name].sizes.append(MIDDLE[what] * factor)
                    grown[name].costs.append(cost)
        for name, growth in grown.items():
            yield f"{name}, {what}", growth.row, ""
    write_text(HERE / "growth.svg", document([chart for what in measured for chart in _charts(what, measured[what])]))
    yield from items_in_use()


def _charts(what: str, grown: Mapping[str, Growth]) -> list[Chart]:
    """Return a chart of the time and one of the memory of all programs, over those at the middle size."""
    return [
        lines(
            f"{title} against {what}, over those at {MIDDLE[what]:,.0f}",
            what,
            "times",
            {f"{name}: {one.exponent(cost):.2f}": _relative(one, cost) for name, one in grown.items()},
            log_x=True,
        )
        for title, cost in (("Processor seconds", PROCESSOR), ("Memory", MEMORY))
    ]


def _relative(growth: Growth, cost: Callable[[Cost], float]) -> Sequence[tuple[float, float | None]]:
    middle = cost(growth.costs[FACTORS.index(1.0)])
    over = ((size, cost(one) / middle) for size, one in zip(growth.sizes, growth.costs, strict=True))
    return [(size, None if isnan(times) else times) for size, times in over]


def items_in_use() -> Iterator[Row]:
    """Yield the processor seconds of item-kNN at three sizes of the catalogue, with equally many clicks."""
    costs = []
    for items in (1e4, 1e5, 1e6):
        with file_of(1e5, items, 2e6) as path:
            costs.append(chain(path, *ALONE))
    used = ", ".join(f"{cost.metrics['data/items']:,.0f}" for cost in costs)
    seconds = ", ".join(f"{cost.processor:.1f}" for cost in costs)
    what = f"item_knn at {used} items, 100,000 users, 2 million clicks: processor seconds; the last over the first"
    yield what, f"{seconds}; {costs[-1].processor / costs[0].processor:.2f} times", "<= 1.3 times"

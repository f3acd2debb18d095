"""Measures the figures of benchmarks/README.md: `make bench`, or `python benchmarks/run.py [NAME ...]` for some of it.

Every figure is that of a whole command in its own process: wall-clock seconds, peak memory as the operating system
reports it, and the metrics from the run's folder. Prints one Markdown table. Real data is looked for in
../shared/data, or where RECX_DATA says; missing data is reported and skipped.
"""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from math import nan
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("RECX_DATA", HERE.parent.parent / "shared" / "data"))


NO_MEMORY = re.compile("MemoryError|bad_alloc|[Cc]annot allocate memory")
"""What a process says that has had no more memory, unless it is killed."""


@dataclass(frozen=True)
class Cost:
    """The cost of one command.

    Attributes:
        seconds: Wall-clock time.
        processor: Processor time of all threads, in seconds.
        gigabytes: Peak memory.
        metrics: The metrics that it wrote.
    """

    seconds: float
    processor: float
    gigabytes: float
    metrics: dict[str, float]


def run(
    *arguments: str,
    module: tuple[str, ...] = ("-m", "recx"),
    folder: str | None = None,
    python: str = sys.executable,
    most: float | None = None,
) -> Cost:
    """Run one command in an empty folder and return its cost; its output is shown if it fails.

    Args:
        arguments: Of the command.
        module: What Python runs.
        folder: Where to run it, in place of an empty folder, so that it finds the stage cache of earlier runs.
        python: The Python that runs it.
        most: Gigabytes of addresses that it may have; where they are not enough, its cost is NaN. None: any.
    """

    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_AS, (int(most * 1e9), int(most * 1e9)))

    with tempfile.TemporaryDirectory() if folder is None else nullcontext(folder) as place:
        command = [python, *module, *arguments]
        start = time.perf_counter()
        with (Path(place) / "output.txt").open("w+") as output:
            child = subprocess.Popen(command, cwd=place, stdout=output, stderr=subprocess.STDOUT, preexec_fn=limit)
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.perf_counter() - start
            child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            said = output.read() if child.returncode else ""
            if child.returncode and most is not None and (child.returncode < 0 or NO_MEMORY.search(said)):
                return Cost(nan, nan, nan, {})
            if child.returncode:
                sys.exit(f"{' '.join(command)} failed:\n{said}")
        unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
        found = sorted(Path(place).glob("outputs/2*/*/metrics.json"))
        metrics = json.loads(found[-1].read_text()) if found else {}
        return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e9, metrics)


def news(name: str) -> Iterator[tuple[str, str, str]]:
    """The main job on real clicks, and every retriever in its own order."""
    path = DATA / name
    if not path.is_dir():
        yield name, "not measured", f"no {path}"
        return
    where = ["+experiment=news", f"dataset.path={path}"]
    whole = run(*where)
    yield f"{name}: union + linear, whole command", f"{whole.seconds:.0f} s, {whole.gigabytes:.2f} GB", "< 60 s, 2 GB"
    ndcg = whole.metrics["end_to_end/ndcg_at_5"]
    aim = {"globo-tianchi-day1": (0.34, 0.90), "globo-tianchi-25k": (0.29, 0.77)}[name]
    yield f"{name}: end_to_end/ndcg_at_5", f"{ndcg:.4f}", f">= {aim[0]}"
    yield f"{name}: funnel/candidate_recall", f"{whole.metrics['funnel/candidate_recall']:.4f}", f">= {aim[1]}"
    alone = {
        "popularity, half-life 1h": ["retriever=popularity", "retriever.half_life=1h"],
        "popularity, last hour": ["retriever=popularity", "retriever.window=1h"],
        "item_knn": ["retriever=item_knn"],
        "markov": ["retriever=markov"],
        "vsknn, gap 2h": ["retriever=vsknn", "retriever.gap=2h"],
        "stan, gap 2h": ["retriever=stan", "retriever.gap=2h"],
        "faiss": ["retriever=faiss"],
        "union": [],
    }
    best = 0.0
    for source, overrides in alone.items():
        own = run(*where, *overrides, "ranker=identity").metrics["end_to_end/ndcg_at_5"]
        best = best if source == "union" else max(best, own)
        yield f"{name}: {source}, own order, ndcg_at_5", f"{own:.4f}", ""
    yield f"{name}: union + linear over the best single retriever", f"{100 * (ndcg / best - 1):+.0f} %", ">= +15 %"


def generated() -> Iterator[tuple[str, str, str]]:
    """The main job on generated data, and the order of the models."""
    whole = run("+experiment=news")
    yield "generated news: whole command", f"{whole.seconds:.0f} s, {whole.gigabytes:.2f} GB", "< 30 s"
    models = {"random": "random", "popularity": "popularity", "faiss": "faiss", "item_knn": "item_knn"}
    values = {
        name: run("+experiment=news", f"retriever={option}", "ranker=identity").metrics["end_to_end/ndcg_at_5"]
        for name, option in models.items()
    }
    values["union + linear"] = whole.metrics["end_to_end/ndcg_at_5"]
    yield "generated news: ndcg_at_5", ", ".join(f"{name} {value:.3f}" for name, value in values.items()), "rising"


WITHOUT_VALID = "learnt without the validation event (refit=false)"


def ease() -> Iterator[tuple[str, str, str]]:
    """EASE on Amazon Beauty, all items ranked: 0.0434 and 0.0781 are what the closed form gives.

    A run learns from everything before the target, the last event before it included; published figures do not, which
    is ``refit=false``.
    """
    path = DATA / "beauty" / "Beauty.txt.gz"
    if not path.is_file():
        yield "beauty", "not measured", f"no {path}"
        return
    words = ("+experiment=sequences", f"dataset.path={path}", "retriever=ease", "ranker=identity")
    whole, published = run(*words), run(*words, "refit=false")
    yield "beauty: ease, whole command", f"{whole.seconds:.0f} s, {whole.gigabytes:.2f} GB", "< 40 s"
    yield "beauty: ease, end_to_end/ndcg_at_10", f"{whole.metrics['end_to_end/ndcg_at_10']:.4f}", "0.0434 ± 0.0008"
    yield "beauty: ease, end_to_end/hit_at_10", f"{whole.metrics['end_to_end/hit_at_10']:.4f}", "0.0781 ± 0.0008"
    yield f"beauty: ease {WITHOUT_VALID}: ndcg_at_10, hit_at_10", at_10(published), ""
    for name in ("slim", "rp3beta", "item_knn", "markov", "vsknn"):
        other = [word.replace("=ease", f"={name}") for word in words]
        yield f"beauty: {name}: ndcg_at_10, hit_at_10", at_10(run(*other)), ""
        yield f"beauty: {name} {WITHOUT_VALID}: ndcg_at_10, hit_at_10", at_10(run(*other, "refit=false")), ""


def at_10(whole: Cost) -> str:
    return ", ".join(f"{whole.metrics[f'end_to_end/{name}_at_10']:.4f}" for name in ("ndcg", "hit"))


def large() -> Iterator[tuple[str, str, str]]:
    """The generator at three million clicks."""
    whole = run("+experiment=news", "dataset.readers=375000", "dataset.articles=20000")
    size = f"{whole.metrics['data/events'] / 1e6:.2f} million clicks"
    yield f"generated news, {size}: whole command", f"{whole.seconds:.0f} s, {whole.gigabytes:.2f} GB", "< 600 s, 6 GB"


def start() -> Iterator[tuple[str, str, str]]:
    """The time of the help text against that of importing Hydra and numpy; medians of ten."""

    def seconds(*module: str) -> float:
        return statistics.median(run(module=module).seconds for _ in range(10))

    ratio = seconds("-m", "recx", "--help") / seconds("-c", "import hydra, numpy")
    yield "`python -m recx --help` over `import hydra, numpy`", f"{ratio:.2f} times", "<= 3 times"


def cache() -> Iterator[tuple[str, str, str]]:
    """What the stage cache costs a first run, and what it saves the same run a second time; medians of three."""
    cases = {"generated news": ["+experiment=news"]}
    day1 = DATA / "globo-tianchi-day1"
    if day1.is_dir():
        cases["globo-tianchi-day1"] = ["+experiment=news", f"dataset.path={day1}"]
    for name, overrides in cases.items():
        without, first, second = [], [], []
        for _ in range(3):
            without.append(run(*overrides, "cache=off").seconds)
            with tempfile.TemporaryDirectory() as folder:
                first.append(run(*overrides, folder=folder).seconds)
                second.append(run(*overrides, folder=folder).seconds)
        off, on, again = map(statistics.median, (without, first, second))
        yield f"{name}: first run with the cache over one without", f"{100 * (on / off - 1):+.1f} %", "<= +5 %"
        yield f"{name}: the same run again over the first", f"{again:.1f} s, {100 * again / on:.0f} %", "< 25 %"


def sweeps() -> Iterator[tuple[str, str, str]]:
    """Twenty settings of the ranker on real clicks, and five hundred nearly empty trials."""
    path = DATA / "globo-tianchi-day1"
    if path.is_dir():
        overrides = ["+experiment=news", f"dataset.path={path}"]
        alone = statistics.median(run(*overrides, "cache=off").seconds for _ in range(3))
        values = ",".join(f"{10 ** (-5 + number / 4):.2g}" for number in range(20))
        for how in ([], ["hydra/launcher=joblib"]):
            sweep = run("-m", *overrides, f"ranker.l2={values}", *how).seconds
            name = f"globo-tianchi-day1: twenty ranker.l2{' side by side (joblib)' if how else ''}"
            yield f"{name} over one uncached run", f"{sweep:.0f} s, {sweep / alone:.2f} times", "<= 1.5 times"
            yield f"{name}, faster than twenty uncached runs", f"{20 * alone / sweep:.1f} times", ">= 8 times"
    else:
        yield "globo-tianchi-day1", "not measured", f"no {path}"
    tiny = ["dataset.readers=60", "dataset.articles=50", "n_candidates=10", "retriever=popularity", "feature=basic"]
    values = ",".join(f"{number / 1000}" for number in range(1, 501))
    with tempfile.TemporaryDirectory() as folder:
        sweep = run("-m", "+experiment=news", *tiny, f"ranker.l2={values}", folder=folder).seconds
        files = list(Path(folder).glob("outputs/sweeps/*/*/metrics.json"))
        chains = sum(json.loads(file.read_text())["time/total"] for file in files)
    yield f"{len(files)} trials: overhead a trial", f"{(sweep - chains) / len(files):.2f} s", "< 1 s"


def evaluation() -> Iterator[tuple[str, str, str]]:
    """`recx.evaluate` against its peers on the same frames: see benchmarks/evaluation.py."""

    def measured(name: str) -> dict[str, float]:
        command = [sys.executable, str(HERE / "evaluation.py"), name]
        return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))

    found = measured("peers")
    size = "50,000 users x 50 shown, 12 metrics"
    yield (
        f"{size}: ranx, pytrec_eval, recx from frames",
        f"{found['ranx']:.1f} s, {found['pytrec_eval']:.1f} s, {found['frames']:.2f} s",
        "",
    )
    for ours, what, aims in (("frames", "from frames", (25, 6)), ("arrays", "from recx's own arrays", (100, 30))):
        for peer, aim in zip(("ranx", "pytrec_eval"), aims, strict=True):
            yield f"{size}: {what}, faster than {peer}", f"{found[peer] / found[ours]:.0f} times", f">= {aim} times"
    slower = found["shuffled"] / found["frames"]
    yield f"{size}: shuffled rows over rows grouped by user", f"{slower:.1f} times", "<= 4 times"
    above = measured("cost")["above_input"] * 1000
    yield f"{size}: peak memory above the frames", f"{above:.0f} MB", "< 500 MB"
    million = measured("million")
    yield (
        "1,000,000 users x 50 shown, 12 metrics: from frames to means",
        f"{million['seconds']:.1f} s, {million['whole']:.1f} GB",
        "< 12 s, 6 GB",
    )
    cases = {
        "stored": ("1,000,000 users x 100 in temporary files: default metrics and the outcomes of the page", ""),
        "wide": ("13,000 users x 100 of 25,000 items, map_at_10", "< 10 s, 0.6 GB"),
        "full_ranking": ("50,000 users x 50,000 items ranked in full, recall_at_10", "< 1.5 GB"),
    }
    for name, (what, aim) in cases.items():
        cost = measured(name)
        yield what, f"{cost['seconds']:.1f} s, {cost['whole']:.2f} GB", aim
    seconds = measured("bootstrap")
    yield "bootstrap: 10,000 resamples of 9,999 users x 12 metrics", f"{seconds['drawn']:.1f} s", "< 5 s"
    yield "bootstrap, approximated: 1,000,000 users x 12 metrics", f"{seconds['approximated']:.1f} s", "< 3 s"


def lists() -> Iterator[tuple[str, str, str]]:
    """`recx evaluate` of large files: see benchmarks/lists.py."""
    from lists import figures

    yield from figures()


def reading() -> Iterator[tuple[str, str, str]]:
    """Ratings from CSV over Arrow's own reader and a sort: see benchmarks/reading.py."""
    from reading import figures

    yield from figures()


def latency() -> Iterator[tuple[str, str, str]]:
    """The overhead of measuring latency: see benchmarks/latency.py."""
    from latency import measured

    yield from measured()


def serve() -> Iterator[tuple[str, str, str]]:
    """Latency, throughput and memory of a served model: see benchmarks/serve.py."""
    from serve import measured

    yield from measured()


def report() -> Iterator[tuple[str, str, str]]:
    """The time of the page of a large run: see benchmarks/report.py."""
    from report import measured

    yield from measured()


def tracker() -> Iterator[tuple[str, str, str]]:
    """The time that the tracker takes: see benchmarks/tracker.py."""
    from tracker import measured

    yield from measured()


def million() -> Iterator[tuple[str, str, str]]:
    """What 300 thousand and a million users cost: see benchmarks/scale.py."""
    from scale import figures

    yield from figures()


def events() -> Iterator[tuple[str, str, str]]:
    """What 100 million clicks cost: see benchmarks/scale.py."""
    from scale import largest

    yield from largest()


def scale() -> Iterator[tuple[str, str, str]]:
    """How time and memory grow with users, items and events: see benchmarks/growth.py."""
    from growth import figures

    yield from figures()


def ann() -> Iterator[tuple[str, str, str]]:
    """Nearest neighbours among a million items: see benchmarks/ann.py."""
    from ann import figures

    yield from figures()


def ials() -> Iterator[tuple[str, str, str]]:
    """Alternating least squares beside implicit on the same histories: see benchmarks/ials.py."""
    from ials import figures

    yield from figures()


def clicks() -> Iterator[tuple[str, str, str]]:
    """Click models on a made-up log: see benchmarks/clicks.py."""
    from clicks import figures

    yield from figures()


def online_test() -> Iterator[tuple[str, str, str]]:
    """The analysis of an online test: see benchmarks/online_test.py."""
    from online_test import figures

    yield from figures()


def slim() -> Iterator[tuple[str, str, str]]:
    """SLIM beside scikit-learn's elastic net on the same history: see benchmarks/slim.py."""
    from slim import figures

    yield from figures()


def two_stages() -> Iterator[tuple[str, str, str]]:
    """Two stages beside the best single retriever, user by user: see benchmarks/two_stages.py."""
    from two_stages import figures

    yield from figures()


BENCHMARKS: dict[str, Callable[[], Iterator[tuple[str, str, str]]]] = {
    "start": start,
    "generated": generated,
    "day1": lambda: news("globo-tianchi-day1"),
    "25k": lambda: news("globo-tianchi-25k"),
    "ease": ease,
    "ials": ials,
    "slim": slim,
    "two_stages": two_stages,
    "large": large,
    "evaluation": evaluation,
    "clicks": clicks,
    "online_test": online_test,
    "lists": lists,
    "reading": reading,
    "cache": cache,
    "sweeps": sweeps,
    "latency": latency,
    "serve": serve,
    "report": report,
    "tracker": tracker,
    "million": million,
    "events": events,
    "scale": scale,
    "ann": ann,
}


def main() -> None:
    """Run the benchmarks that the command line names, or all of them."""
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(sorted(unknown))}; choose from {', '.join(BENCHMARKS)}")
    print("| what | measured | aim |\n| --- | --- | --- |")
    for name in names:
        for what, measured, aim in BENCHMARKS[name]():
            print(f"| {what} | {measured} | {aim} |", flush=True)


if __name__ == "__main__":
    main()

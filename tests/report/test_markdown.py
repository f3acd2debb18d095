"""The summary of a run or a sweep in Markdown."""

from __future__ import annotations

from recx.config.compose import compose, plain
from recx.experiment.build import experiment
from recx.report.markdown import escaped, of_benchmark, of_run, of_sweep, table

WORDS = ["+experiment=news", "dataset.readers=80", "dataset.articles=60", "n_candidates=20", "ranker=identity"]


def test_the_summary_of_a_run_says_what_ran_how_good_it_is_and_whom_ranking_counts() -> None:
    config = plain(compose([*WORDS, "fold=valid"]))
    result = experiment(config).run()
    text = of_run(result, config, ["mrr of the ranking is low: look at the features"])
    means = result.report.means if result.report else {}
    assert text.startswith("**union\\_news + identity** on news (made up), fold valid, ")
    first = next(line for line in text.splitlines() if line.startswith("| **"))
    assert first == "| **valid/end_to_end** | at 5 | at 10 | uncut |", "pages cut the rest off"
    ndcg = [f"{means[f'end_to_end/ndcg_at_{k}']:.4f}" for k in (5, 10)]
    assert f"\n| ndcg | {ndcg[0]} | {ndcg[1]} |  |\n" in text
    share = 100 * (1 - means["funnel/lost_in_retrieval"])
    assert f"`ranking/` counts the {means['ranking/users']:.0f} readers ({share:.1f} %) with a retrieved target" in text
    assert f"do readers get the right articles? ({means['end_to_end/users']:.0f} readers)" in text
    assert "- mrr of the ranking is low: look at the features" in text
    assert "| `dataset.readers` | 80 |" in text


def test_the_summary_of_a_prediction_has_no_figures() -> None:
    config = plain(compose([*WORDS, "fold=predict"]))
    text = of_run(experiment(config).run(), config, [])
    assert text.startswith("**union\\_news + identity** on news (made up), fold predict\n\n| setting | value |")


def test_the_summary_of_a_sweep_is_its_conclusion_and_its_table() -> None:
    absent = {"p": [float("nan")] * 2, "reason": ["", ""]}
    columns = {"trial": [1, 0], "objective": [0.5, float("nan")], "a": ["x", "y|z"], "cached": [0, 0], **absent}
    text = of_sweep("sweep of a", ["best: trial 1 (a=x)"], columns, "valid/end_to_end/mrr")
    head = "| trial | valid/end\\_to\\_end/mrr | a |\n| :-- | --: | --: |"
    assert text == f"**sweep of a**\n\n- best: trial 1 (a=x)\n\n{head}\n| 1 | 0.5000 | x |\n| 0 | – | y\\|z |"


def test_a_long_table_of_a_sweep_is_cut() -> None:
    text = of_sweep("s", [], {"trial": list(range(25)), "objective": [0.5] * 25}, "mrr")
    assert text.endswith("| 19 | 0.5000 |\n\n5 more in `settings.csv`")


def test_a_table_has_one_line_per_row() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| :-- | --: |\n| 1 | 2 |"


def test_texts_of_data_mean_nothing_in_markdown() -> None:
    assert escaped("<b>x</b>\n# [a](b) | *c* `d`") == "\\<b>x\\</b> \\# \\[a\\](b) \\| \\*c\\* \\`d\\`"


def test_the_summary_of_a_benchmark_is_its_conclusions_and_main_figures() -> None:
    columns = {
        "name": ["bm25", "dead"],
        "queries": [9, 0],
        "quality/mrr": [0.5, float("nan")],
        "quality/mrr_low": [0.4, float("nan")],
        "latency/p95_ms": [1.25, float("nan")],
        "reason": ["", "no luck"],
    }
    head = "| name | quality/mrr | latency/p95\\_ms | reason |\n| :-- | --: | --: | --: |"
    rows = "| bm25 | 0.5000 | 1.2500 |  |\n| dead | – | – | no luck |"
    assert of_benchmark(["best quality: bm25"], columns) == f"- best quality: bm25\n\n{head}\n{rows}"

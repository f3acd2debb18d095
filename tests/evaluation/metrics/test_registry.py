"""One spelling for the name of a metric, its params, and the messages for wrong ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import recx
from recx.core.errors import InputError
from recx.core.project import Project, entered
from recx.evaluation.definitions import SAMPLED
from recx.evaluation.metrics.registry import FIGURES, NAMES, UNCUT, NamedMetric, metric, parse, resolve

PLUGIN = """
from dataclasses import dataclass

import numpy as np

@dataclass(frozen=True)
class Shown:
    k: int = 10
    weight: float = 1.0

    @property
    def name(self):
        return f"shown_at_{self.k}"

    def __call__(self, judged):
        return self.weight * np.minimum(self.k, judged.lists.lengths)
"""


@pytest.mark.parametrize("k", [None, 1, 10, 1000])
def test_a_name_comes_back_as_it_was_given(k):
    for figure in (figure for figure in FIGURES if figure != "top_accuracy"):
        if figure in UNCUT and k is not None:
            with pytest.raises(InputError, match=f"the metric '{figure}' takes no cut: write it without _at_{k}"):
                parse(f"{figure}_at_{k}")
            continue
        name = NamedMetric(figure, k).name
        assert name == (figure if k is None else f"{figure}_at_{k}")
        assert resolve(name, {"max_grade": 4}).name == name


def test_top_k_accuracy_is_another_name_for_hit(judge):
    judged = judge({0: [1, 2, 3], 1: [4, 5], 2: []}, {0: {3: 1.0}, 1: {4: 1.0}, 2: {9: 1.0}})
    top = parse("top_3_accuracy")
    assert (top.name, top.k) == ("top_3_accuracy", 3)
    assert top(judged).tolist() == parse("hit_at_3")(judged).tolist() == [1, 1, 0]
    assert top.notes(judged) == {"top_3_trivial": 2}  # both lists fit into the cut: their order says nothing
    assert parse("top_1_accuracy").notes(judged) == {"top_1_trivial": 0}
    with pytest.raises(InputError, match="the metric 'top_accuracy' needs a cut: write it as top_1_accuracy"):
        metric("top_accuracy")


@pytest.mark.parametrize(
    ("beta", "name"), [(1, "f_at_4"), (2, "f2_at_4"), (0.5, "f05_at_4"), (3, "f3_at_4"), (1.5, "f1_5_at_4")]
)
def test_beta_is_a_part_of_the_name(judge, beta, name):
    judged = judge({0: [0, 1, 2, 3]}, {0: dict.fromkeys([0, 1, *range(10, 16)], 1.0)})  # P = 1/2, R = 1/4
    chosen = recx.metric("f", k=4, beta=beta)
    assert chosen.name == name
    assert chosen(judged) == pytest.approx([(1 + beta**2) / 8 / (beta**2 / 2 + 1 / 4)])
    assert metric("class_f", beta=beta).name == name.replace("f", "class_f", 1).removesuffix("_at_4")
    assert metric("class_f_of_0", beta=2).name == "class_f2_of_0"


def test_a_threshold_of_its_own_leaves_out_who_has_no_such_target(judge):
    judged = judge({0: [1, 2], 1: [3], 2: [4]}, {0: {1: 1.0, 2: 4.0}, 1: {3: 5.0}, 2: {4: 2.0}})
    assert metric("hit", 1, rel_threshold=4)(judged) == pytest.approx([0, 1, np.nan], nan_ok=True)
    assert resolve("hit_at_1", {"rel_threshold": 1.0})(judged).tolist() == [1, 1, 1]
    assert float(metric("hit_num", 1, rel_threshold=4)(judged)) == 1.0
    assert float(metric("num_queries", rel_threshold=4)(judged)) == 2.0


def test_what_is_left_open_is_filled_in_and_what_is_given_stays():
    defaults = {"max_grade": 4, "threshold": 0.3, "rel_threshold": 2.0}
    assert resolve("err_at_5", defaults) == NamedMetric("err", 5, max_grade=4, rel_threshold=2.0)
    assert resolve(metric("err", 5, max_grade=3), defaults).max_grade == 3
    assert resolve("accuracy", defaults).threshold == 0.3
    assert resolve(metric("accuracy", threshold=0.9), defaults).threshold == 0.9
    assert resolve("ndcg_at_5", defaults).threshold is None
    assert metric("hit", 5, label="strict_hit").name == "strict_hit"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"figure": "ndcg", "beta": 2}, "the metric 'ndcg' has no beta: leave it out"),
        ({"figure": "f2", "beta": 2}, "the metric 'f2' has no beta: leave it out"),
        ({"figure": "hit", "threshold": 0.5}, "the metric 'hit' has no threshold: leave it out"),
        ({"figure": "hit", "max_grade": 3}, "the metric 'hit' has no max_grade: leave it out"),
        ({"figure": "f", "beta": 0}, "metric.f.beta=0: it must be above 0"),
        ({"figure": "f", "beta": float("nan")}, "metric.f.beta=nan: it must be a number"),
        ({"figure": "f", "beta": True}, "metric.f.beta=true: it must be a number"),
        ({"figure": "hit", "rel_threshold": -1}, "metric.hit.rel_threshold=-1: it must be above 0"),
        ({"figure": "err", "max_grade": float("inf")}, "metric.err.max_grade=inf: it must be a number"),
        ({"figure": "accuracy", "threshold": "0.5"}, "metric.accuracy.threshold=0.5: it must be a number"),
        ({"figure": "auc", "k": 10}, "the metric 'auc' takes no cut"),
    ],
)
def test_a_wrong_param_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        metric(**settings)


@pytest.mark.parametrize(
    ("name", "near"),
    [("ndgc_at_10", "ndcg_at_10"), ("recal", "recall"), ("map_trek_at_5", "map_trec_at_5")],
)
def test_a_typo_suggests_the_near_match(name, near):
    with pytest.raises(InputError, match=f"there is no metric '{name}': did you mean '{near}'"):
        parse(name)


@pytest.mark.parametrize("k", ["0", "-1", "2.5", "ten", "", "010", "True", "1_0", "٣", "5_at_5"])
def test_k_is_a_whole_number_from_1_up(k):
    with pytest.raises(InputError, match="k must be a whole number from 1 up"):
        parse(f"hit_at_{k}")


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "5"])
def test_k_of_a_metric_made_in_python_is_checked_too(k):
    with pytest.raises(InputError, match=r"metric\.hit\.k=.*: it must be (a whole number|1 or more)"):
        metric("hit", k)


def test_err_needs_the_highest_grade():
    with pytest.raises(InputError, match=r"'err_at_5' needs the highest possible grade.*evaluator.max_grade"):
        resolve("err_at_5")


def test_an_unknown_figure_is_refused():
    with pytest.raises(InputError, match="there is no metric 'precison': did you mean 'precision'"):
        metric("precison")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A plugin with a metric, laid out as pip would."""
    conf = tmp_path / "recx_shown" / "conf" / "metric"
    conf.mkdir(parents=True)
    (tmp_path / "recx_shown" / "__init__.py").write_text(PLUGIN)
    (conf / "shown.yaml").write_text("# how many are shown\n_target_: recx_shown.Shown\nk: 10 # cut\nweight: 2.0\n")
    info = tmp_path / "recx_shown-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recx_shown\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[recx.plugins]\nshown = recx_shown\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("recx_shown", None)


@pytest.mark.usefixtures("plugin")
def test_a_metric_of_a_plugin_is_used_by_naming_it(judge, capsys, monkeypatch):
    judged = judge({0: [1, 2, 3], 1: [4]}, {0: {1: 1.0}, 1: {4: 1.0}})
    assert resolve("shown_at_2")(judged).tolist() == [4, 2]  # its weight is its option file's
    assert resolve("shown").name == "shown_at_10"
    with pytest.raises(InputError, match="did you mean 'shown_at_2'"):
        parse("showm_at_2")

    from recx.config.compose import compose, plain
    from recx.experiment.build import plan

    by_target = "{_target_: recx_shown.Shown, k: 3, weight: 1.0}"
    config = plain(compose([f"evaluator.end_to_end=[ndcg_at_5,shown_at_5,{by_target}]"]))
    names = [chosen.name for chosen in plan(config).experiment.evaluator.metrics("end_to_end")]
    assert names == ["ndcg_at_5", "shown_at_5", "shown_at_3"]

    from recx.cli import main

    monkeypatch.setattr("sys.argv", ["recx", "list", "metric"])
    assert main.main() == 0
    told = capsys.readouterr().out.splitlines()
    assert any(line.split()[:2] == ["shown", "recx_shown"] and "how many are shown" in line for line in told)
    assert {line.split()[0] for line in told[1:]} == {"shown", *NAMES, *SAMPLED}


def test_an_option_file_never_stands_behind_a_metric_of_the_same_name(tmp_path):
    (tmp_path / "metric").mkdir()
    (tmp_path / "metric" / "ndcg.yaml").write_text("_target_: mine.Ndcg\n")
    with (
        entered(Project.of([tmp_path])),
        pytest.raises(InputError, match=r"^the metric 'ndcg' exists twice, in recx and in .*ndcg.yaml: rename"),
    ):
        parse("ndcg_at_5")


def test_a_metric_with_params_is_named_in_yaml():
    from recx.config.compose import compose, plain
    from recx.experiment.build import plan

    own = "{_target_: recx.evaluation.metrics.registry.NamedMetric, figure: f, k: 10, beta: 3}"
    config = plain(compose([f"evaluator.end_to_end=[ndcg_at_5,{own}]"]))
    names = [chosen.name for chosen in plan(config).experiment.evaluator.metrics("end_to_end")]
    assert names == ["ndcg_at_5", "f3_at_10"]

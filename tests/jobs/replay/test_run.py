"""The laws of a replay: its figures are those of runs, and no window knows of what comes after it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.errors import InputError
from recx.core.progress import Stages
from recx.experiment import build
from recx.experiment.blocks import serve
from recx.experiment.engine.local import Local
from recx.experiment.experiment import Experiment
from recx.experiment.model.model import Model
from recx.experiment.model.serving import serving_of
from recx.experiment.saved_runs import JUDGED
from recx.jobs.replay.alarms import Limit
from recx.jobs.replay.output import as_plain
from recx.jobs.replay.page import sentences
from recx.jobs.replay.run import Replayed
from recx.parts.split.by_time import ByTime

from .conftest import CHAIN, COLUMNS, DAY, START

Replay = Callable[..., Replayed]


def quality(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if name.startswith(JUDGED)}


def test_the_first_window_has_the_figures_of_the_run_that_judged_it(home: Path, replayed: Replay) -> None:
    run = json.loads((home / "outputs" / "judged" / "metrics.json").read_text())
    found = replayed("judged")
    assert [row.window.start for row in found.rows] == [START + day * DAY for day in (5, 6, 7)]
    assert quality(found.rows[0].figures) == quality(run)
    assert len(quality(run)) > 30
    loaded = recx.results.load(home / "outputs" / "judged").evaluation
    assert found.rows[0].intervals["end_to_end/ndcg_at_5"] == pytest.approx(loaded.interval("end_to_end/ndcg_at_5"))


def test_later_windows_have_those_of_the_fold_of_rolling_windows_asked_of_the_kept_chain(
    home: Path, replayed: Replay
) -> None:
    """``split.skip=1`` is the window after that of ``split.skip=2``, with one more day of history."""
    model = Model.of(home / "outputs" / "judged" / "model")
    found = replayed("judged")
    for skip, row in ((1, found.rows[1]), (0, found.rows[2])):
        fold = ByTime(window="1d", skip=skip).split(model.known.history, "test").fold
        lists = serve(Local(), serving_of(model.kept.chain, fold.history), fold.requests, Stages(aloud=False))
        evaluation = build.experiment(model.kept.config).evaluator.evaluate(*lists, fold)
        assert quality(row.figures) == quality(evaluation.means)


def test_a_log_that_goes_on_gives_the_figures_of_one_that_was_whole_from_the_beginning(
    home: Path, replayed: Replay
) -> None:
    """The chain of ``early`` never saw the last three days, nor that they would come."""
    found = replayed("early")
    assert [row.window.start for row in found.rows] == [START + day * DAY for day in (5, 6, 7)]
    later = pd.read_csv(home / "log.csv")
    later[later["ts"] >= START + 5 * DAY].to_csv(home / "later.csv", index=False)
    again = replayed("early", "later.csv")
    assert [row.named for row in again.rows] == [row.named for row in found.rows]


def test_a_file_that_has_grown_since_the_run_is_the_whole_log(home: Path, replayed: Replay, tmp_path: Path) -> None:
    shutil.copy(home / "early.csv", tmp_path / "growing.csv")
    words = [f"dataset.path={tmp_path / 'growing.csv'}", f"hydra.run.dir={tmp_path / 'run'}", "fold=predict"]
    recx.run(["+experiment=table", *COLUMNS, *CHAIN, *words])
    shutil.copy(home / "log.csv", tmp_path / "growing.csv")
    shutil.copytree(tmp_path / "run", home / "outputs" / "grown")
    found, whole = replayed("grown", tmp_path / "growing.csv"), replayed("early")
    assert "the data of the run has changed since" in found.log.notes[0]
    assert [row.figures for row in found.rows] == [row.figures for row in whole.rows]
    later = pd.read_csv(home / "log.csv")
    later[later["ts"] >= START + 5 * DAY].to_csv(tmp_path / "later.csv", index=False)
    with pytest.raises(InputError, match=r"no event lies before the fit's end .* give the whole log"):
        replayed("grown", tmp_path / "later.csv")


def test_a_model_with_its_events_needs_no_data_but_the_later_part(home: Path, replayed: Replay, tmp_path: Path) -> None:
    shutil.copy(home / "early.csv", tmp_path / "gone.csv")
    words = [f"dataset.path={tmp_path / 'gone.csv'}", f"hydra.run.dir={home / 'outputs' / 'full'}", "fold=predict"]
    recx.run(["+experiment=table", *COLUMNS, *CHAIN, *words, "model=full"])
    (tmp_path / "gone.csv").unlink()
    later = pd.read_csv(home / "log.csv")
    later[later["ts"] >= START + 6 * DAY].to_csv(tmp_path / "later.csv", index=False)
    found = replayed("full", tmp_path / "later.csv")
    assert found.log.notes == ()
    assert [row.counts["events"] > 0 for row in found.rows] == [False, True, True]
    assert "1 of the 3 windows have no event" in " ".join(sentences(as_plain(found)))
    again = replayed("early", tmp_path / "later.csv")
    assert repr(again.frame.to_dict()) == repr(found.frame.to_dict())


def test_no_window_knows_of_what_comes_after_it(home: Path, replayed: Replay) -> None:
    log = pd.read_csv(home / "log.csv")
    later = log["ts"] >= START + 6 * DAY
    log.loc[later, "sku"] = np.random.default_rng(0).permutation(log.loc[later, "sku"].to_numpy())
    log.to_csv(home / "other.csv", index=False)
    found, other = replayed("early", refit="1d"), replayed("early", "other.csv", refit="1d")
    assert found.rows[0].named == other.rows[0].named
    assert found.rows[1].named != other.rows[1].named


def test_the_lists_of_a_window_do_not_depend_on_what_is_clicked_in_it(home: Path, replayed: Replay) -> None:
    log = pd.read_csv(home / "log.csv")
    inside = (log["ts"] >= START + 5 * DAY) & (log["ts"] < START + 6 * DAY)
    log.loc[inside, "sku"] = "i0"
    log.to_csv(home / "answers.csv", index=False)
    found, other = (replayed("early", name).rows[0] for name in ("log.csv", "answers.csv"))
    of_lists = [name for name in found.moved if name != "popularity"]
    assert "top_score" in of_lists
    assert len(of_lists) > 5
    assert {name: found.moved[name] for name in of_lists} == {name: other.moved[name] for name in of_lists}
    assert found.figures["coverage_at_10"] == other.figures["coverage_at_10"]
    assert found.figures["end_to_end/hit_at_5"] != other.figures["end_to_end/hit_at_5"]


def test_refitting_gains_what_a_run_on_all_events_before_would_have(home: Path, replayed: Replay) -> None:
    found = replayed("early", refit="1d")
    assert found.rows[0].refitted is None
    assert found.rows[1].refitted == START + 6 * DAY
    log = pd.read_csv(home / "log.csv")
    log[log["ts"] < START + 6 * DAY].to_csv(home / "six.csv", index=False)
    words = [f"dataset.path={home / 'six.csv'}", "fold=predict", f"hydra.run.dir={home / 'outputs' / 'six'}"]
    recx.run(["+experiment=table", *COLUMNS, *CHAIN, *words])
    again, kept = replayed("six").rows[0], found.rows[1]
    for name, gain in kept.gains.items():
        assert gain.value == again.figures[name]
        assert gain.gain == pytest.approx(gain.value - kept.figures[name])
        assert gain.low <= gain.gain <= gain.high
    assert any(gain.gain for gain in kept.gains.values())
    assert replayed("early", refit="2d").rows[2].refitted == START + 7 * DAY


def test_targets_on_items_that_the_chain_does_not_know_are_missed_and_counted(home: Path, replayed: Replay) -> None:
    log = pd.read_csv(home / "log.csv")
    inside = (log["ts"] >= START + 5 * DAY) & (log["ts"] < START + 6 * DAY)
    log.loc[inside & (log["uid"] != "u0"), "sku"] = "new"
    log.loc[inside, "uid"] = log.loc[inside, "uid"].replace("u2", "somebody")
    log.to_csv(home / "new.csv", index=False)
    row = replayed("early", "new.csv", min_history=0).rows[0]
    events = log[inside]
    assert row.figures["items_not_in_catalogue"] == (events["sku"] == "new").mean()
    assert row.figures["new_items"] == row.figures["items_not_in_catalogue"]
    assert row.figures["new_users"] == (events["uid"] == "somebody").mean() > 0
    assert row.counts == {
        "events": len(events),
        "users": events["uid"].nunique(),
        "asked": events["uid"].nunique(),
        "left_out": 0,
        "judged": events["uid"].nunique(),
    }
    assert row.figures["end_to_end/hit_at_10"] <= 1 / events["uid"].nunique()
    asked = replayed("early", "new.csv").rows[0].counts
    assert (asked["left_out"], asked["asked"]) == (1, row.counts["asked"] - 1)


def test_drift_is_none_from_a_window_to_itself_and_grows_with_what_is_clicked(home: Path, replayed: Replay) -> None:
    found = replayed("early", reference="first")
    assert {one.psi for one in found.rows[0].moved.values()} == {0.0}
    log = pd.read_csv(home / "log.csv")
    later = log["ts"] >= START + 6 * DAY
    log.loc[later, "sku"] = "i24"
    log.to_csv(home / "one.csv", index=False)
    moved = replayed("early", "one.csv", reference="first").rows[1].moved["popularity"]
    assert moved.psi > found.rows[1].moved["popularity"].psi
    assert moved.size() == "large"


def test_the_last_window_may_be_partial(home: Path, replayed: Replay) -> None:
    found = replayed("early", every="2d")
    assert [row.window.partial for row in found.rows] == [False, True]
    assert [row.window.name for row in found.rows] == ["2020-09-19", "2020-09-21"]


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        (lambda log: log[log["ts"] < START + 5 * DAY], {}, "no event is later than the fit"),
        (lambda log: log, {"every": "7d"}, "a window is longer than the log goes on after the fit"),
        (lambda log: log, {"every": "1s"}, "that makes 259,200 windows"),
        (lambda log: log.drop(columns="ts"), {}, "--log: .*ts"),
        (lambda log: log.rename(columns={"sku": "doc"}), {}, "--log: .*sku"),
        (lambda log: log, {"min_history": 1000}, "in none of its 3 windows could anybody be asked"),
        (lambda log: log, {"every": "3d", "min_history": 9, "reference": "fit"}, "nobody can be asked in the window"),
        (lambda log: log, {"moderate": 0.3}, "--moderate 0.3 --large 0.25"),
    ],
    ids=[
        "nothing-new",
        "long-windows",
        "short-windows",
        "no-times",
        "no-items",
        "nobody",
        "no-reference",
        "thresholds",
    ],
)
def test_a_replay_that_cannot_be_says_why(
    home: Path,
    replayed: Replay,
    tmp_path: Path,
    change: Callable[[pd.DataFrame], pd.DataFrame],
    settings: dict[str, object],
    message: str,
) -> None:
    change(pd.read_csv(home / "log.csv")).to_csv(tmp_path / "log.csv", index=False)
    if message.startswith("in none"):
        settings = {**settings, "reference": "first"}
    with pytest.raises(InputError, match=message):
        replayed("early", tmp_path / "log.csv", **settings)


def test_a_day_that_ends_some_seconds_before_midnight_is_whole(home: Path, replayed: Replay) -> None:
    log = pd.read_csv(home / "log.csv")
    stop = START + 7 * DAY
    log[log["ts"] < stop - 20_000].to_csv(home / "two.csv", index=False)
    found = replayed("early", "two.csv", limits=[Limit.of("new_users>-1")])
    assert [row.window.partial for row in found.rows] == [False, False]
    assert [alarm.window for alarm in found.alarms] == [1, 2]
    log[log["ts"] < stop - 6 * 3_600_000].to_csv(home / "part.csv", index=False)
    found = replayed("early", "part.csv", limits=[Limit.of("new_users>-1")])
    assert [row.window.partial for row in found.rows] == [False, True]
    assert found.rows[1].window.covered == pytest.approx(0.75, abs=0.05)
    assert [alarm.window for alarm in found.alarms] == [1]


def test_a_log_of_other_items_is_refused(home: Path, replayed: Replay) -> None:
    log = pd.read_csv(home / "log.csv")
    log["sku"] = "x" + log["sku"]
    log.to_csv(home / "foreign.csv", index=False)
    with pytest.raises(InputError, match="the chain knows none of the items"):
        replayed("early", "foreign.csv")


def test_windows_that_nothing_can_be_fitted_for_say_why(
    home: Path, replayed: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(*_: object) -> None:
        raise InputError("too little data")

    monkeypatch.setattr(Experiment, "fit", fit)
    found = replayed("early", refit="1d")
    assert [row.not_refitted for row in found.rows] == ["", "too little data", "too little data"]
    assert not any(row.gains for row in found.rows)


@pytest.mark.slow
def test_on_real_clicks_the_first_window_has_the_figures_of_the_run(
    here: Path, shared_data: Callable[[str], Path]
) -> None:
    """A day of news, of which the run is judged on the last six hours; the filter leaves out a tail of three weeks."""
    day1 = shared_data("globo-tianchi-day1")
    words = [f"dataset.path={day1}", "filter=period", "filter.period.until=2017-10-02T03:00", "split=by_time"]
    small = ["split.window=6h", "split.max_users=500", "tracker=console", "cache=off", "hydra.run.dir=outputs/1"]
    run = recx.run(["+experiment=news", *words, *small])
    found = recx.replay("outputs/1", day1, every="6h", refit="2h")
    assert quality(found.rows[0].figures) == quality(run.metrics)
    assert found.rows[0].counts["asked"] == 500
    later = recx.replay("outputs/1", day1, every="2h", refit="2h")
    assert [row.window.partial for row in later.rows] == [False] * 3
    assert all(row.gains for row in later.rows[1:])
    assert later.log.notes[-1].startswith("the run's filters (period)")

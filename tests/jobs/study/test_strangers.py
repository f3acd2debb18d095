from __future__ import annotations

from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.jobs.study import strangers
from recx.jobs.study.spec import spec_of

REFUSED = {
    "ranker.object=os:system": "code",
    "+ranker.object=os:system": "code",
    "ranker._target_=os.system": "code",
    "ranker={_target_: os.system, command: ls}": "code",
    "ranker=choice({_target_: os.system},{_target_: os.popen})": "code",
    "ranker.columns=[{a: {module: os}}]": "code",
    "retriever.command='rm -rf /'": "a program",
    "++retriever.command=[rm, -rf]": "a program",
    "retriever.fit_command=rm": "a program",
    "feature.x={inner: [{shell: ls}]}": "a program",
    "ranker.url=http://example.org/v1": "a server",
    "++ranker.base_url=http://example.org/v1": "a server",
    "ranker={endpoint: 'http://example.org'}": "a server",
    "ranker.api_key_env=HOME": "a server",
    "hydra.job.env_set.A=1": "Hydra",
    "hydra/launcher=ray": "Hydra",
    "hydra.searchpath=[file:///tmp]": "Hydra",
    "tracker=console": "sent",
    "tracker.uri=http://example.org": "sent",
    "engine=ray": "machines",
    "cache=off": "cache",
    "name_of=${oc.env:HOME}": "environment",
    "dataset.path='${ oc.env:HOME}'": "environment",
    "dataset.path='${other:HOME}'": "environment",
    "--config-dir=conf": "flag",
    "dataset.api_key=abc": "password",
    "dataset.path='https://me:word@example.org/a.csv'": "password",
}


@pytest.mark.parametrize("override", REFUSED)
def test_code_programs_and_passwords_are_refused_unless_the_command_line_repeats_them(override: str) -> None:
    with pytest.raises(InputError) as raised:
        strangers.check_overrides([override], "own.yaml: chains.a")

    assert str(raised.value).startswith("own.yaml: chains.a: ")
    assert REFUSED[override] in str(raised.value)
    assert "repeat it on the command line" in str(raised.value)
    assert "abc" not in str(raised.value)
    assert ":word@" not in str(raised.value)
    strangers.check_overrides([override], "own.yaml: chains.a", [override])


@pytest.mark.parametrize(
    "override",
    [
        *("+experiment=news", "ranker=linear", "ranker.l2=0.1", "~feature.age", "retriever.neighbours=10,20"),
        *("dataset.path={data}/clicks.csv", "ranker.l2=interval(0.1,10)", "n_candidates=${other}"),
        *("filter=[k_core,repeats]", "feature@ranker=news"),
    ],
)
def test_what_chooses_parts_and_settings_is_allowed(override: str) -> None:
    strangers.check_overrides([override], "own.yaml: chains.a")


@pytest.mark.parametrize("place", ["chains.a", "chains.a.tune", "worlds.w"])
def test_all_places_of_a_study_are_checked(place: str) -> None:
    bad, lists = "ranker.object=a:b", {"chains.a": [], "chains.a.tune": [], "worlds.w": []}
    lists[place] = [bad]
    chains = {"a": {"overrides": lists["chains.a"], "tune": lists["chains.a.tune"]}}
    worlds = {"w": lists["worlds.w"]}
    spec = spec_of({"metrics": ["mrr"], "seeds": [0], "chains": chains, "worlds": worlds}, Path("own.yaml"))

    with pytest.raises(InputError, match=f"own.yaml: {place}: ranker.object=a:b"):
        strangers.check(spec)
    strangers.check(spec, [bad])

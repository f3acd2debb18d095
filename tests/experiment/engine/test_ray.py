"""What is said of engine=ray before Ray is started, or where it is not installed."""

from __future__ import annotations

import socket
import sys
from types import SimpleNamespace

import pytest

from recx.config.compose import compose, plain
from recx.core.errors import InputError
from recx.experiment import build
from recx.experiment.engine import ray as engine
from recx.experiment.engine.ray import Ray
from recx.jobs.sweep.plan import read

NEWS = "+experiment=news"


def refusal(**settings: str) -> str:
    with pytest.raises(InputError) as raised:
        Ray(**settings).preflight()
    return str(raised.value)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda name: object())


def test_it_is_chosen_by_a_word_and_a_run_asks_for_it_before_any_data_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    experiment = build.experiment(plain(compose([NEWS, "engine=ray", "engine.num_cpus=2", "dataset.path=/nowhere"])))
    assert experiment.engine == Ray(num_cpus=2)
    with pytest.raises(InputError, match=r"engine=ray needs Ray: install recx-lab again, with its extra 'ray'"):
        experiment.run()


@pytest.mark.usefixtures("installed")
def test_a_process_that_works_for_ray_already_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: True))
    assert "this process works for Ray already, as a trial of hydra/launcher=ray does" in refusal()


@pytest.mark.usefixtures("installed")
def test_an_address_where_nobody_answers_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert refusal(address=address).startswith(f"engine.address={address}: no server answers there (")


def test_trials_on_ray_cannot_wait_for_blocks_on_ray() -> None:
    pytest.importorskip("hydra_plugins.hydra_ray_launcher")
    words = [NEWS, "engine=ray", "hydra/launcher=ray", "ranker=identity,linear"]
    with pytest.raises(InputError, match="engine=ray with hydra/launcher=ray: the trials would occupy the cores"):
        read(words)


@pytest.mark.parametrize("setting", ["num_cpus=0", "num_cpus=1.5", "max_retries=-1", "address=[1]"])
def test_a_wrong_setting_is_named(setting: str) -> None:
    with pytest.raises(InputError, match=f"engine.{setting.partition('=')[0]}"):
        build.experiment(plain(compose([NEWS, "engine=ray", f"engine.{setting}"])))

"""Counts of several workers are added up, and Prometheus can read their text."""

from __future__ import annotations

import tempfile

import pytest

from recx.jobs.serve.counters import CODES, ENDPOINTS, Counters, size


def test_workers_share_a_file_and_each_adds_to_its_own() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(size(2))
        first, second = (Counters.shared(file.fileno(), 2, worker) for worker in range(2))
        for worker in (first, second):
            worker.started()
        first.count("recommend", 200, 0.003)
        second.count("recommend", 200, 0.3)
        second.count("recommend", 422, 0.0005)
        again = Counters.shared(file.fileno(), 2, 1)  # the worker died and was started again
        again.started()
        again.count("recommend", 200, 99.0)
        lines = first.text().splitlines()
    assert 'recx_requests_total{endpoint="recommend",code="200"} 3' in lines
    assert 'recx_requests_total{endpoint="recommend",code="422"} 1' in lines
    buckets = {"0.001": 1, "0.0025": 1, "0.005": 2, "0.25": 2, "0.5": 3, "10.0": 3, "+Inf": 4}
    for bound, n in buckets.items():
        assert f'recx_request_seconds_bucket{{endpoint="recommend",le="{bound}"}} {n}' in lines
    assert 'recx_request_seconds_sum{endpoint="recommend"} 99.303500' in lines
    assert 'recx_request_seconds_count{endpoint="recommend"} 4' in lines
    assert "recx_workers 2" in lines
    assert "recx_worker_starts_total 3" in lines
    assert not [line for line in lines if "similar" in line]


def test_a_latency_on_a_bound_belongs_to_it() -> None:
    counters = Counters.alone()
    counters.count("health", 200, 0.005)
    assert 'recx_request_seconds_bucket{endpoint="health",le="0.005"} 1' in counters.text()
    assert 'recx_request_seconds_bucket{endpoint="health",le="0.0025"} 0' in counters.text()


def test_the_client_of_prometheus_reads_it() -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    counters = Counters.alone()
    for n, endpoint in enumerate(ENDPOINTS):
        counters.count(endpoint, CODES[n], 0.01 * n)
    families = {family.name: family for family in parser.text_string_to_metric_families(counters.text())}
    assert {name: family.type for name, family in families.items()} == {
        "recx_requests": "counter",
        "recx_request_seconds": "histogram",
        "recx_workers": "gauge",
        "recx_worker_starts": "counter",
    }
    assert sum(sample.value for sample in families["recx_requests"].samples) == len(ENDPOINTS)

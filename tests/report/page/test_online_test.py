"""The page of an online test: self-contained, and safe whatever the names are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.report.page.online_test import html_of

EVIL = "</script><img src=x onerror=alert(1)>{{ 7 * 7 }}"


@pytest.mark.parametrize("name", ["new", EVIL], ids=["plain", "evil"])
def test_the_page_shows_everything_and_runs_nothing(reader: Any, name: str) -> None:
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(90), 4)
    log = pd.DataFrame(
        {"user": user, "arm": np.where(user % 3 == 0, "control", name), "clicked": rng.integers(2, size=360)}
    )
    found = recx.ab(log, metrics=["ctr"], control="control", resamples=50, draws=19, mde="5%")
    page = reader(html_of(found))
    assert not {"img", "iframe", "object"} & set(page.names())
    text = " ".join(data for _, data in page.texts)
    assert f"{name} against control" in text
    for sentence in (*found.verdicts, *found.warnings, *(f"{one}." for one in found.about)):
        assert sentence in text
    assert f"{found.table['difference'][0]:+.4f}" in text
    assert f"{found.power['users_control'][1]:,.0f}" in text
    tables = [attributes["id"] for tag, attributes in page.elements if tag == "table" and "id" in attributes]
    assert tables == ["counts", "values", "tests", "detectable", "needed"]

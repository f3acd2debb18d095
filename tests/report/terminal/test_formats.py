"""How numbers are written."""

from __future__ import annotations

import math

import pytest

from recx.report.terminal.formats import count, figure, p_value, percent, significant


@pytest.mark.parametrize("nothing", [None, math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_a_dash(nothing: float | None) -> None:
    assert {show(nothing) for show in (figure, count, percent, p_value, significant)} == {"–"}


def test_numbers_are_written_for_people() -> None:
    assert (figure(0.12345), figure(0.5, "+"), figure(-0.00001)) == ("0.1235", "+0.5000", "0.0000")
    assert (figure(123.45), figure(12345.6), figure(12345.6, digits=1)) == ("123.4500", "12,346", "12,345.6")
    assert (count(1234567), count(2.5), count(0.123456), count(1234.5)) == ("1,234,567", "2.5", "0.1235", "1,234")
    assert (percent(0.5), percent(0.0001), percent(0)) == ("50.0 %", "<0.1 %", "0.0 %")
    assert (percent(0.5, "+"), percent(0.0001, "+"), percent(-0.0001, "+")) == ("+50.0 %", "+0.0 %", "+0.0 %")
    assert (p_value(0.00001), p_value(0.05)) == ("<.0001", "0.0500")
    assert (significant(0.000123456), significant(123456.7)) == ("0.0001235", "123,457")

"""The filter keeps its contract and leaves the events of some hours out."""

import pandas as pd
from recx_template.filter import WithoutHours

from recx.plugin import Interactions
from recx.testing import check_filter, config_of

HOUR = 3_600_000
NIGHT = 1_500_076_800_000  # a midnight, UTC


def test_the_contract() -> None:
    check_filter(WithoutHours(0, 12))
    assert config_of("filter=template")["filter"]["template"]["since"] == WithoutHours().since


def test_the_events_of_two_and_three_are_left_out() -> None:
    times = [NIGHT + hour * HOUR for hour in (1, 2, 3, 4)]
    events = Interactions.from_frame(pd.DataFrame({"user": list("uuvv"), "item": [1, 2, 3, 4], "time": times}))
    left = WithoutHours().apply(events)
    assert left.items.ids[left.item].tolist() == [1, 4]
    assert left.n_items == 4  # what was clicked at night only can still be recommended

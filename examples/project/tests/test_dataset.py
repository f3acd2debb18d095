"""The dataset keeps its contract and reads what the file says."""

from pathlib import Path

import pytest
from cafe.dataset import Orders

from recx.plugin import InputError
from recx.testing import check_dataset


def test_the_contract() -> None:
    check_dataset(Orders())


def test_each_guest_s_orders_are_sorted_by_time(tmp_path: Path) -> None:
    file = tmp_path / "orders.csv"
    file.write_text("guest,dish,time\ng2,soup,1970-01-01T00:01\ng1,cake,1970-01-01T02:00\ng2,cake,1970-01-01\n")
    events = Orders(str(file)).load()
    assert events.users.ids[events.user].tolist() == ["g2", "g2", "g1"]
    assert events.items.ids[events.item].tolist() == ["cake", "soup", "cake"]
    assert events.time is not None
    assert events.time.tolist() == [0, 60_000, 7_200_000]


def test_another_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("user,item\n1,2\n")
    with pytest.raises(InputError, match=r"orders.csv has no guest, dish and time"):
        Orders(str(tmp_path / "orders.csv")).load()

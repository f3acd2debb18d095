"""The dataset keeps its contract and reads what a file says."""

from pathlib import Path

import pytest
from recx_template.dataset import JsonLines

from recx.plugin import InputError
from recx.testing import check_dataset, check_option

LINES = """{"user": "u2", "item": "007", "time": "2024-05-01T09:30:00Z"}
{"user": "u1", "item": "7", "time": "1970-01-01T00:00:02.5Z"}
{"user": "u2", "item": "7", "time": "1970-01-01T01:00:00+01:00"}
"""


def written(folder: Path, text: str) -> JsonLines:
    (folder / "log.jsonl").write_text(text, encoding="utf-8")
    return JsonLines(str(folder / "log.jsonl"))


def test_the_contract(tmp_path: Path) -> None:
    check_dataset(written(tmp_path, LINES))
    check_option("dataset/template")


def test_ids_are_kept_and_times_are_milliseconds_by_user(tmp_path: Path) -> None:
    events = written(tmp_path, LINES).load()
    assert events.users.ids[events.user].tolist() == ["u2", "u2", "u1"]
    assert events.items.ids[events.item].tolist() == ["7", "007", "7"]
    assert events.time is not None
    assert events.time.tolist() == [0, 1_714_555_800_000, 2_500]


@pytest.mark.parametrize("text", ['{"user": "u1", "item": "a"}\n', "user,item\n"])
def test_another_file_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log\.jsonl has no events with user, item and time"):
        written(tmp_path, text).load()

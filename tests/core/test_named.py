"""What a command line and option files name is found in their texts, commands word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from recx.core.named import addresses_in, command_name, commands_in, commands_of, names_in, urls_of

COMMAND = command_name(["python", "als.py"])


@pytest.mark.parametrize(
    "override",
    [
        "retriever.command=[python,als.py]",
        "+retriever.command=[python, als.py]",
        """retriever.command=["python",'als.py']""",
        "retriever.sources.als.command=[python,als.py]",
        "retriever={_target_:recx.X,command:[python,als.py],seed:1}",
        "retriever.command=[other],[python,als.py]",
    ],
)
def test_a_command_is_found_in_an_override(override: str) -> None:
    assert COMMAND in commands_in(["seed=1", override])


@pytest.mark.parametrize(
    "override",
    [
        "retriever.uses=[python,als.py]",
        "retriever.command=python als.py",
        "retriever.command=[python,als.py,-x]",
        "[python,als.py],retriever.command=null",
        "retriever.command=[python,1]",
        "retriever.command=[]",
    ],
)
def test_no_other_list_is_that_command(override: str) -> None:
    assert COMMAND not in commands_in([override])


def test_commands_of_option_files_are_found_at_any_depth_and_in_any_style() -> None:
    text = "retriever:\n  sources:\n    - command:\n        - python\n        - als.py\n"
    assert commands_of({Path("a.yaml"): text, Path("b.yaml"): "command: [b]", Path("c.yaml"): "command: [c"}) == {
        COMMAND,
        command_name(["b"]),
    }


def test_addresses_of_servers_in_option_files_are_found_at_any_depth() -> None:
    text = "ranker:\n  inner:\n    - url: http://a/v1 # see http://b\nurl: null\n"
    other = "url: 'https://me:open@c/v1'"
    found = urls_of({Path("a.yaml"): text, Path("b.yaml"): other, Path("c.yaml"): "url: [d"})
    assert found == {"http://a/v1", "https://me:***@c/v1"}


def test_a_password_in_a_command_is_not_part_of_its_name() -> None:
    [name] = commands_in(["retriever.command=[get,'https://me:***@host']"])
    assert name == command_name(["get", "https://me:open@host"])


def test_classes_objects_and_addresses_are_found() -> None:
    assert names_in(["ranker.object=a.b:c", "x: {_target_: p.Q}", "seed=p.R"]) == {"a.b:c", "p.Q"}
    assert addresses_in(["dataset.path=s3://bucket/x"]) == {"s3://bucket/x"}

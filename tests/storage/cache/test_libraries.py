"""Which distributions count as installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from recx.storage.cache import libraries


def install(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")


def test_what_a_library_brings_in_a_folder_of_its_own_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray's processes have such a folder first on their path, and must have the version of code that others have."""
    site, own, checkout = (
        tmp_path / "site-packages",
        tmp_path / "site-packages" / "big" / "thirdparty",
        tmp_path / "mine",
    )
    install(own, "one_lib", "2.0")
    install(own, "two_lib", "2.0")
    install(site, "one_lib", "1.0")
    install(checkout, "three_lib", "3.0")
    for folder in (site, checkout, own):
        monkeypatch.syspath_prepend(folder)
    found = {name: libraries._found.__wrapped__(name) for name in ("one_lib", "two_lib", "three_lib", "four_lib")}
    versions = {name: one and one.version for name, one in found.items()}
    assert versions == {"one_lib": "1.0", "two_lib": None, "three_lib": "3.0", "four_lib": None}

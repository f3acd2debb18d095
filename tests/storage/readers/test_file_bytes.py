"""A mapped file, whose memory may be taken back at any time."""

from __future__ import annotations

from pathlib import Path

from recx.storage.readers.file_bytes import let_go, mapped_bytes


def test_bytes_are_there_again_after_they_were_let_go(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(bytes(range(256)) * 1_000)
    data = mapped_bytes(tmp_path / "a.txt")
    part = data[1_000:2_000]
    let_go(part)
    assert bytes(part) == (bytes(range(256)) * 8)[1_000:2_000]
    assert bytes(data[:256]) == bytes(range(256))
    let_go(memoryview(b"not of a file"))

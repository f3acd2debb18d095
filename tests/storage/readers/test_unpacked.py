from __future__ import annotations

import bz2
import gzip
import io
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from recx.core.errors import InputError
from recx.storage.readers import unpacked
from recx.storage.readers.content import content

TEXT = b"user,item\n" + b"".join(b"%d,%d\n" % (at, 7 * at) for at in range(2_000))


def zipped(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


PACKED = {
    ".gz": gzip.compress(TEXT, mtime=0),
    ".bz2": bz2.compress(TEXT),
    ".zst": pa.compress(TEXT, "zstd", asbytes=True),
    ".zip": zipped(**{"log.csv": TEXT, "__MACOSX/._log.csv": b"x"}),
}


@pytest.mark.parametrize("ending", PACKED)
def test_packed_files_hold_what_was_packed(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log.csv{ending}"
    path.write_bytes(PACKED[ending])
    assert bytes(content(path)) == TEXT


@pytest.mark.parametrize("ending", PACKED)
def test_a_file_cut_short_is_refused_at_any_length(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log.csv{ending}"
    for n in (len(PACKED[ending]) // 2, len(PACKED[ending]) - 5):
        path.write_bytes(PACKED[ending][:n])
        with pytest.raises(InputError, match=f"is a damaged {unpacked.KINDS[ending][2]} file .*: fetch or write it"):
            content(path)


@pytest.mark.parametrize("ending", PACKED)
def test_a_name_that_says_otherwise_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(PACKED[ending])
    with pytest.raises(InputError, match=f"contrary to its name: call it log.csv{ending}"):
        content(path)
    path = tmp_path / f"log.csv{ending}"
    path.write_bytes(TEXT)
    with pytest.raises(InputError, match=r"is not .*, contrary to its name: call it log.csv"):
        content(path)


@pytest.mark.parametrize("ending", PACKED)
def test_a_file_made_to_fill_the_memory_is_refused(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacked, "HARMLESS", 1 << 16)
    zeros = bytes(1 << 26)
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": lambda data: pa.compress(data, "zstd", asbytes=True)}
    path = tmp_path / f"bomb.csv{ending}"
    path.write_bytes(zipped(bomb=zeros) if ending == ".zip" else pack[ending](zeros))
    with pytest.raises(InputError, match="unpacks to more than"):
        content(path)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.csv": TEXT, "b.csv": TEXT}, "holds 2 files .a.csv, b.csv., and one is needed: unpack it"),
        ({"folder/": b""}, "holds no file, and one is needed"),
    ],
)
def test_an_archive_holds_one_file(tmp_path: Path, files: dict[str, bytes], said: str) -> None:
    path = tmp_path / "log.zip"
    path.write_bytes(zipped(**files))
    with pytest.raises(InputError, match=said):
        content(path)

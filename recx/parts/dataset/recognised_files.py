"""Says which of the well-known formats a file or folder has, by what is in it (see ``known_files``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from recx.core.errors import InputError
from recx.parts.dataset.known_files import Format, formats
from recx.storage.readers.columnar import typed
from recx.storage.readers.content import content, is_folder, readable
from recx.storage.readers.marks import PACKED, fields_of
from recx.storage.readers.text_bytes import from_header

_BYTES, _LINES = 1 << 16, 200
"""What is looked at of a file."""


@dataclass(frozen=True)
class Known:
    """A file or folder of a well-known format.

    Attributes:
        name: The name of the format.
        format: The format.
        path: The file or folder.
        columns: The names of a file's columns or, without a header, its first row.
    """

    name: str
    format: Format
    path: Path
    columns: tuple[str, ...] = ()

    @property
    def settings(self) -> list[tuple[str, str]]:
        """The overrides, key and value, that its command needs besides ``dataset.path``."""
        said = [text.format(path=self.path).partition("=") for text in self.format.settings]
        return [(key, value) for key, _, value in said] + [
            (key, str(file)) for key, ending in self.format.beside.items() if (file := self._beside(ending)) is not None
        ]

    def _beside(self, ending: str) -> Path | None:
        """Return the file beside this one that is called like it but for the ending, packed or not."""
        stem = _unpacked(self.path.name).rpartition(".")[0]
        files = (self.path.parent / f"{stem}{ending}{packed}" for packed in ("", *PACKED))
        return next((file for file in files if file.is_file()), None)


def known_as(path: Path) -> Known | None:
    """Return what a file or folder is; None: it has none of the formats.

    Raises:
        InputError: A folder holds several of them, or has folders that do, or the file cannot be read.
    """
    if not is_folder(path):
        return _of_file(path)
    names = _names(path)
    found = [Known(name, known, path) for name, known in formats().items() if _is_folder_of(path, names, known)][:1]
    of_folder = {pattern for one in found for pattern in one.format.folder}
    dataset = found[0].format.dataset if found else None
    for name, file in names.items():
        if "/" not in name and not any(fnmatchcase(name, pattern) for pattern in of_folder):
            with suppress(InputError):  # a picture, or a file that the data does without
                one = _of_file(file)
                found += [one] if one is not None and one.format.dataset != dataset else []
    if len(found) > 1:
        raise _several(path, found)
    return found[0] if found else _inside(path)


def require_format(paths: Sequence[Path], name: str) -> None:
    """Check that files have the format that is expected of them.

    Raises:
        InputError: One has not; the message names the right one, if it is known.
    """
    expected = formats()[name]
    for path in paths:
        columns, lines = _shape(path)
        other = _of_file(path)
        if (other is None and _fits(expected, columns, lines)) or (other is not None and other.name == name):
            continue
        seems = f"dataset.format={name} is for {expected.what}, and this seems to be"
        if other is not None:
            raise InputError(f"{path}: {seems} {other.format.what}: choose dataset={other.format.dataset}")
        shown = lines[0][:80] if lines else ", ".join(columns[:6])
        raise InputError(
            f"{path}: {seems} something else ({shown!r}): choose dataset=table and name its columns, or set "
            "dataset.format=null if it has the same columns nevertheless (python -m recx help own-data)"
        )


def _shape(path: Path) -> tuple[list[str], list[str]]:
    """Return the columns of a table with types, or else the first lines of a text."""
    data = content(path)
    table = typed(path, data)
    return ([], _lines(data)) if table is None else (table.names, [])


def _of_file(path: Path) -> Known | None:
    columns, lines = _shape(path)
    bare = _unpacked(path.name)
    for name, known in formats().items():
        named = not known.names or any(fnmatchcase(bare, pattern) for pattern in known.names)
        if not known.folder and named and _fits(known, columns, lines):
            return Known(name, known, path, tuple(fields_of(lines[0], known.delimiter) if lines else columns))
    return None


def _fits(known: Format, columns: Sequence[str], lines: Sequence[str]) -> bool:
    """Return whether a format has the columns of a typed table, or such first lines."""
    if not lines:
        return bool(known.keys) and set(known.keys) <= set(columns)
    if known.line:
        return all(re.fullmatch(known.line, line) for line in lines)
    if known.row:
        rows = [fields_of(line, known.delimiter) for line in lines]
        wide = len(known.row)
        return all(len(row) == wide and all(map(re.fullmatch, known.row, row)) for row in rows)
    header = fields_of(lines[0], known.delimiter)
    return header == list(known.header) if known.header else bool(known.keys) and set(known.keys) <= set(header)


def _is_folder_of(path: Path, names: Mapping[str, Path], known: Format) -> bool:
    matched = [
        [file for name, file in names.items() if fnmatchcase(name, pattern) and name.count("/") == pattern.count("/")]
        for pattern in known.folder
    ]
    if not matched or not all(matched):
        return False
    if not (known.line or known.row or known.header or known.keys):
        return True
    return _fits(known, *_shape(matched[0][0]))


def _lines(data: memoryview) -> list[str]:
    """Return the first lines that are not empty; one that is cut off does not count."""
    body = from_header(data)
    head = bytes(body[:_BYTES])
    if len(body) > _BYTES:
        head = head[: head.rfind(b"\n") + 1] or head
    lines = re.split("\r\n|\r|\n", head.decode("utf-8", "replace"))
    return [line for line in lines if line.strip()][:_LINES]


def _names(path: Path) -> dict[str, Path]:
    """Return the name of every file of a folder and of its folders, unpacked, relative to the folder."""
    with readable(path):
        files = [file for pattern in ("*", "*/*") for file in sorted(path.glob(pattern)) if file.is_file()]
    shown = {_unpacked(file.relative_to(path).as_posix()): file for file in files}
    return {name: file for name, file in shown.items() if not re.search(r"(^|/)[._]", name)}


def _unpacked(name: str) -> str:
    return next((name.removesuffix(ending) for ending in PACKED if name.endswith(ending)), name)


def _inside(path: Path) -> Known | None:
    """Return None, unless folders in a folder are of a known format, of which one is to be named."""
    found = list(_of_folders(path))
    if not found:
        return None
    shown = " and ".join(f"{one.path.name} ({one.format.what})" for one in found[:2])
    raise InputError(
        f"{path} holds {len(found)} folder{'s' if len(found) > 1 else ''} of data, such as {shown}: name one, such as "
        f"dataset.path={found[0].path}"
    )


def _of_folders(path: Path) -> Iterator[Known]:
    with readable(path):
        folders = sorted(one for one in path.iterdir() if one.is_dir() and not one.name.startswith("."))
    for folder in folders:
        names = _names(folder)
        for name, known in formats().items():
            if _is_folder_of(folder, names, known):
                yield Known(name, known, folder)
                break


def _several(path: Path, found: Sequence[Known]) -> InputError:
    first, second = found[0], next((one for one in found if one.name != found[0].name), found[1])
    files = [one.path for one in (first, second) if one.path != path]
    if first.name == second.name:
        shown = f"{len(found)} files of {first.format.what}, such as {files[0].name} and {files[1].name}"
    else:
        kinds = (f"{one.format.what}{f' ({one.path.name})' * (one.path != path)}" for one in (first, second))
        shown = f"several kinds of data, {' and '.join(kinds)}"
    return InputError(f"{path} holds {shown}: name the file, such as dataset.path={files[0]}")


def right_dataset(dataset: object) -> str:
    """Return what an error of a dataset should add where its path is of a format that another one reads; "" elsewhere.

    Args:
        dataset: The part.
    """
    path, known = getattr(dataset, "path", None), None
    if isinstance(path, str) and path and getattr(dataset, "format", None) is None:
        with suppress(InputError, OSError, RuntimeError):  # it is not there, or of several formats
            known = known_as(Path(path).expanduser())
    if known is None or known.format.dataset == type(dataset).__module__.rpartition(".")[2]:
        return ""
    return f"; it seems to be {known.format.what}, which dataset={known.format.dataset} reads"

"""Files at addresses such as ``s3://bucket/log.csv``: copied into a temporary folder of this process.

An address is opened only if this command line names it: what a saved run, a study or an option file says could be
anybody's.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from recx.core import project
from recx.core.errors import InputError
from recx.core.progress import say

PROTOCOLS = ("s3", "gs", "https")


def is_address(name: str) -> bool:
    """Return whether a name is an address rather than a path."""
    return "://" in name


def fetched(address: str, key: str) -> list[Path]:
    """Return copies of the files at an address: one, those in a folder, or those that match a pattern.

    Args:
        address: The address.
        key: The setting that names it, for errors.

    Raises:
        InputError: This command line does not name it, the library for it is not installed, or it cannot be read.
    """
    protocol = address.partition("://")[0]
    if protocol not in PROTOCOLS:
        known = ", ".join(f"{one}://" for one in PROTOCOLS)
        raise InputError(f"{key}={address}: addresses that are opened begin with {known}: copy the file")
    if not project.is_typed(address):
        raise InputError(
            f"{key}={address}: an address is opened only where this command line names it, and it stands in an option "
            f"file or a saved run: type {key}={address} here if you trust it, or copy the file"
        )
    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(address)
        names = _names(system, path)
        folder = Path(tempfile.mkdtemp(dir=_folder().name))
        say(f"  {address}: {len(names)} files are fetched")
        return [_copy(system, name, folder) for name in names]
    except ImportError as error:
        raise InputError(f"{key}={address}: {error}: install what it names, or copy the file") from error
    except Exception as error:  # of any library
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{key}={address} cannot be read ({reason}): correct it, or copy the file") from error


@cache
def _folder() -> Any:
    return tempfile.TemporaryDirectory(prefix="recx-")


def _names(system: Any, path: str) -> list[str]:
    if any(mark in path for mark in "*[") and "https" not in system.protocol:
        found = [name for name in system.glob(path) if not system.isdir(name)]
        if not found:
            raise FileNotFoundError("no file matches the pattern")
        return sorted(found)
    if "https" not in system.protocol and system.isdir(path):
        return sorted(system.find(path, maxdepth=1))
    return [path]


def _copy(system: Any, name: str, folder: Path) -> Path:
    """Copy a file, whole."""
    path = folder / (name.partition("?")[0].rstrip("/").rpartition("/")[2] or "file")
    if path.exists():
        raise FileExistsError(f"two files are called {path.name}")
    system.get_file(name, str(path))
    size = system.info(name).get("size")
    if size is not None and path.stat().st_size != size:
        raise OSError(f"{path.stat().st_size:,} of {size:,} bytes of {path.name} arrived")
    return path

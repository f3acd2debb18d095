"""What a server is started with, checked before anything is loaded."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.core.system.plain_files import check_plain, read_text
from recx.jobs.serve.limits import Limits

TOKEN = "RECX_TOKEN"
SHORTEST = 16
"""Shorter tokens could be guessed."""
BACKLOG = 128
"""Most connections that the system keeps until a worker takes them."""
LOCAL = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Settings:
    """How a model is served.

    Attributes:
        folder: The folder of the model.
        run: How the run was named.
        host: The name or address to listen on.
        workers: Number of processes.
        limits: What a request may ask for.
        token: What requests must bring; "": nothing.
        hosts: What the header Host may name, in lower case; (): anything, where a token is required.
    """

    folder: Path
    run: str
    host: str = "127.0.0.1"
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    token: str = ""
    hosts: tuple[str, ...] = LOCAL

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain values, for a worker."""
        return {**asdict(self), "folder": str(self.folder)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Settings:
        """Return the settings that ``as_json`` described."""
        folder, hosts, limits = Path(values["folder"]), tuple(values["hosts"]), Limits(**values["limits"])
        return cls(**{**values, "folder": folder, "hosts": hosts, "limits": limits})


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that no other process can take the port.

    Raises:
        InputError: The port is in use, or the address is not of this machine.
    """
    if not 0 <= port < 2**16:
        raise InputError(f"--port {port}: it must be a whole number from 1 to 65535, or 0 for any free one")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OverflowError:
        raise InputError(f"--port {port}: it must be a whole number from 1 to 65535, or 0 for any free one") from None
    except (OSError, UnicodeError) as error:
        busy = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        if busy:
            another = f"choose another, such as --port {port % 60_000 + 1}"
            raise InputError(f"port {port} of {host} is in use: {another}") from None
        reason = error.strerror if isinstance(error, OSError) else "it is no name of a host"
        raise InputError(
            f"--host {host} --port {port}: no server can listen there ({reason}): name an address of this machine, "
            "such as 127.0.0.1, and a port from 1024"
        ) from None


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach a numerical address."""
    return ipaddress.ip_address(address).is_loopback


def hosts_of(host: str, address: str) -> tuple[str, ...]:
    """Return what the header Host may name for a server on a numerical address; (): anything.

    A page of the web could otherwise have a browser ask this server under the page's own name (DNS rebinding).
    """
    if ipaddress.ip_address(address).is_unspecified:
        return ()
    named = {f"[{name}]" if ":" in name else name for name in (host.lower(), address)}
    return (*LOCAL, *sorted(named.difference(LOCAL))) if is_loopback(address) else tuple(sorted(named))


def token_of(file: Path | None) -> str:
    """Return the token in a file or in the environment variable RECX_TOKEN; "" without either.

    Raises:
        InputError: Both are given, the file is not this user's alone, or the token is too short or no single word.
    """
    word = os.environ.get(TOKEN, "")
    if file is None and not word:
        return ""
    if file is not None and word:
        raise InputError(f"--token-file {file}: the variable {TOKEN} is set too: give only one of them")
    where = TOKEN if file is None else f"--token-file {file}"
    if file is not None:
        word = _read(file)
    if not re.fullmatch(rf"[!-~]{{{SHORTEST},1000}}", word):
        raise InputError(
            f"{where}: a token is one word of {SHORTEST} to 1,000 letters, digits and signs: make one with "
            "`python -c 'import secrets; print(secrets.token_urlsafe())'`"
        )
    return word


def check_token(token: str, host: str, address: str) -> None:
    """Raise InputError where a server would answer other machines without a token."""
    if not token and not is_loopback(address):
        raise InputError(
            f"--host {host}: other machines can reach it, so requests need a token: give --token-file FILE or the "
            f"variable {TOKEN}, or listen on 127.0.0.1 (python -m recx help serve)"
        )


def _read(file: Path) -> str:
    try:
        state = check_plain(file, 10_000, own=True)
        if state.st_mode & 0o077:
            raise InputError(f"--token-file {file}: others may read it: chmod 600 it")
        return read_text(file, 10_000, own=True).strip()
    except OSError as error:
        raise InputError(f"--token-file {file}: {error.strerror}: name a file that holds the token") from None
    except UnicodeDecodeError:
        raise InputError(f"--token-file {file}: it is no text: name a file that holds the token") from None

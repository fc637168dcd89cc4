"""User names and passwords for indexes: from their URLs, the environment, netrc, and the command ``keyring``.

They belong to an origin (scheme, host and port) and are given for no other. Nothing here prints them, and no sentence
holds one: messages name an index through :func:`redact_url`. What surprises: of several indexes on one host, each has
its own, and files elsewhere on that host have those of the first; the ``default`` entry of a netrc, which fits every
host, is passed over; and ``keyring`` is only asked about a user whose name is known, as pip and uv do.
"""

from __future__ import annotations

import netrc
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gradcompat.processes.executables import find_program
from gradcompat.startup.lazy_dataclasses import dataclass, field

_KEYRING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Credential:
    """A user and a password; neither shows in a repr, because some indexes take a token as the user."""

    username: str = field(repr=False)
    password: str = field(repr=False)


def redact_url(url: str) -> str:
    """A URL as a message may have it: without user and password.

    >>> redact_url("https://me:secret@index.example/simple")
    'https://index.example/simple'
    """
    head, mark, rest = url.partition("//")
    if not mark:
        return url
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    if "@" in authority:
        return f"{head}//{rest[authority.rindex('@') + 1 :]}"
    # A password with an unescaped slash: what passes for the port is none.
    if "@" in rest and not re.fullmatch(r"(\[[^\]]*\]|[^:]*)(:\d*)?", authority):
        return f"{head}//{rest[rest.rindex('@') + 1 :]}"
    return url


def bare(url: str) -> tuple[str, Credential | None, str | None]:
    """A URL without user and password, what they are, and the user alone where no password stands with it."""
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets without an address between them
        return redact_url(url), None, None
    user, mark, host = parts.netloc.rpartition("@")
    if not mark:
        return url, None, None
    name, colon, password = (unquote(part) for part in user.partition(":"))
    without = parts._replace(netloc=host).geturl()
    if colon:
        return without, Credential(name, password), name
    return without, None, name or None


class Credentials:
    """Whose they are: :meth:`of` answers for any URL, an index or a file of one.

    Attributes:
        notes: what was found and could not be used, each a sentence; grows as URLs are asked about.
    """

    def __init__(
        self, urls: Iterable[tuple[str, str | None]], environ: Mapping[str, str], *, keyring: bool = False
    ) -> None:
        """Take what the URLs themselves and the environment hold; netrc and keyring are read when they are needed.

        Args:
            urls: addresses of indexes as they were stated, with the names that uv's settings give them.
            environ: variables of the environment.
            keyring: the configuration asks for the command ``keyring``.
        """
        self.notes: list[str] = []
        self._environ = environ
        self._keyring = keyring
        self._stated: dict[_Origin, list[tuple[str, Credential]]] = {}
        self._found: dict[_Origin, Credential | None] = {}
        self._users: dict[_Origin, tuple[str, str]] = {}
        self._hosts: dict[str, Credential] | None = None
        for url, name in urls:
            without, credential, user = bare(url)
            origin = _origin(without)
            credential = _of_index(name, environ) or credential
            if origin is None:
                continue
            if credential is not None:
                self._stated.setdefault(origin, []).append((urlsplit(without).path.rstrip("/") + "/", credential))
            elif user is not None:
                self._users.setdefault(origin, (user, without))

    def __repr__(self) -> str:
        return "Credentials(…)"

    def of(self, url: str) -> Credential | None:
        """The user and the password for a URL; None where there are none, and where the URL is not http or https."""
        origin = _origin(url)
        if origin is None:
            return None
        stated = self._stated.get(origin)
        if stated is not None:
            path = urlsplit(url).path.rstrip("/") + "/"
            above = [(folder, credential) for folder, credential in stated if path.startswith(folder)]
            return max(above, key=lambda one: len(one[0]), default=stated[0])[1]
        if origin not in self._found:
            self._found[origin] = self._of_host(origin) or self._of_keyring(origin)
        return self._found[origin]

    def _of_host(self, origin: _Origin) -> Credential | None:
        if self._hosts is None:
            self._hosts = _netrc(self._environ, self.notes)
        found = self._hosts.get(origin[1])
        user = self._users.get(origin)
        # A user that the URL names is not replaced by another one's entry.
        return found if found is not None and (user is None or user[0] == found.username) else None

    def _of_keyring(self, origin: _Origin) -> Credential | None:
        user = self._users.get(origin)
        if not self._keyring or user is None:
            return None
        name, url = user
        command = find_program("keyring", self._environ.get("PATH", os.defpath))
        if command is None:
            self.notes.append("the command `keyring` is requested by the configuration, but was not found")
            self._keyring = False
            return None
        # First for the index itself, then for its host, as pip and uv ask.
        for service in (url, urlsplit(url).netloc):
            password = self._ask(command, service, name)
            if password is not None:
                return Credential(name, password)
        return None

    def _ask(self, command: str, service: str, user: str) -> str | None:
        if not self._keyring:
            return None
        try:
            done = subprocess.run(  # noqa: S603
                [command, "get", service, user],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(self._environ),
                cwd=os.path.dirname(command),  # and not a project, whose modules it might import
                timeout=_KEYRING_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.notes.append(f"the command `keyring` did not answer within {_KEYRING_SECONDS:g} seconds")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "a NUL in what it would be asked"
            self.notes.append(f"the command `keyring` cannot be run: {reason}")
        else:
            answer = done.stdout.decode("utf-8", "replace").rstrip("\r\n")
            return answer if done.returncode == 0 and answer else None
        self._keyring = False
        return None


_Origin = tuple[str, str, int]
_PORTS = {"http": 80, "https": 443}


def _origin(url: str) -> _Origin | None:
    """Scheme, host and port; None for what credentials are never sent to."""
    if "\\" in url:
        return None  # some take it for a slash, and then another part is the host
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not host:
        return None
    return parts.scheme, host, port or _PORTS[parts.scheme]


def _of_index(name: str | None, environ: Mapping[str, str]) -> Credential | None:
    """What UV_INDEX_<NAME>_USERNAME and _PASSWORD say."""
    if name is None:
        return None
    variable = "UV_INDEX_" + re.sub(r"[^A-Z0-9]", "_", name.upper())
    user, password = environ.get(f"{variable}_USERNAME"), environ.get(f"{variable}_PASSWORD")
    if user is None and password is None:
        return None
    return Credential(user or "", password or "")


def _netrc(environ: Mapping[str, str], notes: list[str]) -> dict[str, Credential]:
    """The entries of the netrc by host."""
    named, home = environ.get("NETRC"), environ.get("HOME") or environ.get("USERPROFILE")
    beside = [Path(home) / ".netrc", Path(home) / "_netrc"] if home else []
    for path in [Path(named)] if named else beside:
        try:
            if not os.path.exists(path):
                continue
            read = netrc.netrc(str(path))
        except netrc.NetrcParseError as error:
            # Its message quotes the token that it stopped at, which may be a password.
            notes.append(f"`{path}:{error.lineno}`: is not a netrc file, so no password was read from it")
        except OSError as error:
            notes.append(f"`{path}`: cannot be read: {error.strerror}")
        except ValueError:
            notes.append(f"`{path}`: is not text, so no password was read from it")
        else:
            entries = {host: read.authenticators(host) for host in read.hosts if host != "default"}
            return {
                host.lower(): Credential(entry[0] or entry[1] or "", entry[2] or "")
                for host, entry in entries.items()
                if entry is not None
            }
        return {}
    return {}

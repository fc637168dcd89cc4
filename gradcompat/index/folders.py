"""Indexes and folders of files on this machine: ``file://`` addresses, as pip.conf and requirements files have them."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from gradcompat.errors import IndexUnavailable
from gradcompat.files.regular_files import read_regular
from gradcompat.index.location import IndexLocation, named
from gradcompat.index.pages import read_page
from gradcompat.model.release import Distribution


def path_of(url: str) -> Path:
    """The path that a ``file://`` URL names.

    Raises:
        IndexUnavailable: if it names one of another machine, or none.
    """
    try:
        parts = urlsplit(url)
        if parts.netloc not in ("", "localhost"):
            raise IndexUnavailable("names a file of another machine", path=named(url))
        return Path(url2pathname(parts.path))
    except ValueError:
        raise IndexUnavailable("is not a URL", path=named(url)) from None


def local_files(location: IndexLocation, name: str, limit: int) -> tuple[Distribution, ...]:
    """The files that lie there, or that a page there lists; none where there is nothing.

    Args:
        location: on this machine.
        name: of the package, as PEP 503 normalises it.
        limit: how large a page may be.

    Raises:
        IndexUnavailable: if what is there cannot be read.
    """
    url = location.page(name)
    path = path_of(url)
    try:
        if os.path.isdir(path):
            page = path / "index.html"
            if not os.path.isfile(page):
                return _lying_in(path)
            url, path = page.as_uri(), page
        content = read_regular(path, limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise IndexUnavailable(f"cannot be read: {reason}", path=str(path)) from None
    if len(content) > limit:
        raise IndexUnavailable(f"is larger than {limit / 2**20:g} MiB", path=str(path))
    try:
        kind = "application/vnd.pypi.simple.v1+json" if path.suffix == ".json" else "text/html"
        return read_page(content, kind, url, None if location.find_links else name)
    except ValueError as error:
        raise IndexUnavailable(str(error), path=str(path)) from None


def _lying_in(folder: Path) -> tuple[Distribution, ...]:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if os.path.isfile(entry))
    return tuple(Distribution(filename=name, url=(folder / name).absolute().as_uri()) for name in names)

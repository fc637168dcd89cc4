"""The files of releases, opened to be read: a wheel in parts, of which only what is asked for is fetched."""

from __future__ import annotations

import io
from typing import IO

from gradcompat.errors import IndexUnavailable
from gradcompat.files.regular_files import open_regular
from gradcompat.index.folders import path_of
from gradcompat.index.location import named
from gradcompat.index.ranges import remote_file
from gradcompat.index.requirements import verify
from gradcompat.index.transport import TooLarge, Transport
from gradcompat.model.release import Distribution


def open_release_file(transport: Transport, file: Distribution, limit: int) -> IO[bytes]:
    """Open a wheel or an sdist.

    Args:
        transport: how to ask.
        file: as the index lists it.
        limit: how many bytes may be fetched.

    Raises:
        IndexUnavailable: if it cannot be read, or is not the one that the index lists.
    """
    if file.url.lower().startswith("file:"):
        path = path_of(file.url)
        try:
            return open_regular(path)
        except OSError as error:
            raise IndexUnavailable(f"cannot be read: {error.strerror}", path=str(path)) from None
    try:
        if file.filename.endswith(".whl"):
            remote, whole = remote_file(transport, file.url, limit)
            if whole is not None:
                verify(whole, file.hashes, file.url)
            return remote
        headers = {"Accept-Encoding": "identity"}
        answer = transport.get(file.url, limit=limit, headers=headers, accepted=(200,))
    except TooLarge as error:
        raise IndexUnavailable(f"is sent only as a whole, and {error.message}", path=named(file.url)) from None
    verify(answer.content, file.hashes, file.url)
    return io.BytesIO(answer.content)

"""Where an index is, without the credentials for it, which are in ``credentials.py``; and URLs for messages."""

from __future__ import annotations

from urllib.parse import urlsplit

from gradcompat.index.credentials import bare, redact_url
from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLocation:
    """A package index, or a page or a folder of files.

    What surprises: a user and a password in the URL are dropped, so that nothing that holds a location can print them.

    Attributes:
        url: http, https or file; of an index the part before the name of a package.
        find_links: it is one page, or one folder, of files of any packages.
    """

    url: str
    find_links: bool = False

    def __post_init__(self) -> None:
        try:
            url = bare(self.url)[0]
        except ValueError:  # what is no URL is found out when it is asked for
            url = self.url
        object.__setattr__(self, "url", redact_url(url))

    @property
    def local(self) -> bool:
        """It is on this machine."""
        return self.url.lower().startswith("file:")

    def page(self, name: str) -> str:
        """Where the files of a package are listed.

        >>> IndexLocation(url="https://index.example/simple").page("torch")
        'https://index.example/simple/torch/'
        """
        return self.url if self.find_links else f"{self.url.rstrip('/')}/{name}/"


def named(url: str) -> str:
    """A URL as a message may have it: no user, no password, and no query, in which signatures and tokens stand.

    >>> named("https://me:secret@files.example/torch.whl?signature=abc#sha256=0")
    'https://files.example/torch.whl'
    """
    return redact_url(url).partition("#")[0].partition("?")[0]


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port.

    Raises:
        ValueError: if it is no URL.
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)

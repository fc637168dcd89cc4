"""A file (or standard input) as decoded text, with limits: what every reader of a file format starts from."""

from __future__ import annotations

import codecs
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from gradcompat.errors import Malformed, NotFound, OutsideRoot, SourceError
from gradcompat.root import Root, root_of_file

MAX_BYTES = 64 * 1024 * 1024  # the largest lockfiles of training stacks known today have 2 MB

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The armour of keys and certificates: what is inside looks like names of packages.
_KEY = re.compile(rb"\s*-----BEGIN [A-Z0-9 ]+-----|PuTTY-User-Key-File")


@dataclass(frozen=True, slots=True)
class Document:
    """One text to read.

    Attributes:
        path: how it is shown to the user: the path as given, or ``-``.
        text: the decoded content; line ends are as in the file.
        file: where it lies, for what it refers to by a relative path; None for standard input.
        root: what it may refer to; None for the root that the file itself has.
    """

    path: str
    text: str
    file: Path | None = None
    root: Root | None = None

    def leads_outside(self, path: Path) -> str | None:
        """Why what the document refers to is not read: it lies outside of the root. None if it does not."""
        if self.file is None:
            return None
        root = self.root or root_of_file(self.file)
        return root.objection if root.leads_outside(path) else None


def read_document(path: Path, shown: str | None = None, root: Root | None = None) -> Document:
    """Read a file, without following it anywhere surprising.

    Args:
        path: the file.
        shown: how it is called to the user; by its path if that is None.
        root: where the file has to lie, unless the user has named it.

    Raises:
        OutsideRoot: if it lies elsewhere, whether or not something is there.
        NotFound: if there is nothing that can be read: no file, no permission, a folder, a device, a link to itself.
        Malformed: if it is too large, a key, binary or not decodable.
    """
    name = path.as_posix() if shown is None else shown
    if root is not None and root.leads_outside(path):
        raise OutsideRoot(root.objection, path=name)
    try:
        # Opening a pipe or a terminal would wait for someone to write to it; a regular file does not mind.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise NotFound("there is no such file or folder", path=name) from None
    except ValueError:
        raise NotFound("cannot be read: the path holds a NUL", path=name) from None
    except OSError as error:
        raise NotFound(f"cannot be read: {error.strerror}", path=name) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe, a socket or a device"
        raise NotFound(f"is {kind}, not a file", path=name, hint="to read from a pipe, use `-`")
    with open(descriptor, "rb") as file:
        try:
            data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise NotFound(f"cannot be read: {error.strerror}", path=name) from None
    return Document(name, decode(data, name), path, root)


def decode(data: bytes, path: str) -> str:
    """The text of a file: UTF-8, or UTF-16 and UTF-32 where a byte order mark or the bytes say so.

    Raises:
        Malformed: if it is longer than :data:`MAX_BYTES`, a key, binary, or in another encoding.
    """
    if len(data) > MAX_BYTES:
        raise Malformed(f"is larger than {MAX_BYTES // 2**20} MiB, which no lockfile is", path=path)
    if _KEY.match(data):
        raise Malformed("is a key or a certificate, and is not read", path=path)
    encoding = next((encoding for mark, encoding in _BOMS if data.startswith(mark)), None)
    if encoding is None:
        encoding = "utf-8"
        if b"\0" in data[:1024]:
            # PowerShell writes UTF-16, some editors without the mark: every other byte of ASCII is then zero.
            head = data[:1024]
            if head[1::2].count(0) * 2 > len(head) * 0.8:
                encoding = "utf-16-le"
            elif head[::2].count(0) * 2 > len(head) * 0.8:
                encoding = "utf-16-be"
            else:
                raise Malformed("is binary, not text", path=path)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Malformed(f"is not {encoding.upper()} text", path=path, line=line, hint="save it as UTF-8") from None
    if "\0" in text:
        raise Malformed("is binary, not text", path=path)
    return text


def read_beside(document: Document, relative: str) -> Document:
    """Read what a document refers to (``-r other.txt``), relative to its own folder and inside of its root.

    Raises:
        SourceError: if the document has no folder (standard input), or as :func:`read_document`.
    """
    if document.file is None:
        raise SourceError("refers to a file, which standard input cannot show", path=document.path)
    target = document.file.parent / relative
    shown = os.path.normpath(os.path.join(os.path.dirname(document.path), relative)).replace(os.sep, "/")
    return read_document(target, shown, document.root or root_of_file(document.file))

"""A file (or standard input) as decoded text, with limits: what every reader of a file format starts from."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path

from gradcompat.errors import Malformed, NotFound, OutsideRoot, SourceError
from gradcompat.files.regular_files import NotRegular, open_regular
from gradcompat.files.root import Root, root_of_file
from gradcompat.formats.lfs_pointer import size_of_content
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern

MAX_BYTES = 64 * 1024 * 1024  # the largest lockfiles of training stacks known today have 2 MB

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The armour of keys and certificates: what is inside looks like names of packages.
_KEY = lazy_pattern(rb"\s*-----BEGIN [A-Z0-9 ]+-----|PuTTY-User-Key-File")

# What reads a file of that name decodes it as a comment in its first two lines says: Python (PEP 263), and pip with a
# pattern of its own.
_PYTHON_CODING = lazy_pattern(rb"\A(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n?|\n))??[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")
_PIP_CODING = lazy_pattern(rb"\A(?:[^\n]*\n)??#[^\n]*?coding[:=][^\S\n]*([-\w.]+)")
_CODINGS = {".py": _PYTHON_CODING, ".txt": _PIP_CODING, ".in": _PIP_CODING}
# These take quadratic time, and nobody writes a file in them.
_SLOW_CODECS = frozenset({"punycode", "idna"})


@dataclass(frozen=True, slots=True)
class Document:
    """One text to read.

    Attributes:
        path: how it is shown to the user: the path as given, or ``-``.
        text: the decoded content; line ends are as in the file.
        file: where it lies, for what it refers to by a relative path; None for standard input.
        root: what it may refer to; None for the root that the file itself has.
        shared: what readers of one folder keep between its files; None to keep nothing.
    """

    path: str
    text: str
    file: Path | None = None
    root: Root | None = None
    shared: dict[str, object] | None = field(default=None, compare=False, repr=False)

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
    return document_of(read_content(path, name, root), name, path, root)


def read_content(path: Path, shown: str, root: Root | None) -> bytes:
    """The content of a file that lies where it has to.

    Raises:
        OutsideRoot: as :func:`read_document`.
        NotFound: as :func:`read_document`.
    """
    if root is not None and root.leads_outside(path):
        raise OutsideRoot(root.objection, path=shown)
    return read_bytes(path, shown)


def document_of(data: bytes, shown: str, path: Path, root: Root | None = None) -> Document:
    """The document of a file's content.

    Raises:
        Malformed: as :func:`read_document`.
    """
    return Document(shown, decode(data, shown, _CODINGS.get(path.suffix.lower())), path, root)


def read_bytes(path: Path, name: str) -> bytes:
    """The content of a regular file, of which at most one byte more than :data:`MAX_BYTES` is read.

    Raises:
        NotFound: as :func:`read_document`.
    """
    hint = "to read from a pipe, use `-`"
    try:
        opened = open_regular(path)
    except FileNotFoundError:
        raise NotFound("there is no such file or folder", path=name) from None
    except IsADirectoryError:
        raise NotFound("is a folder, not a file", path=name, hint=hint) from None
    except NotRegular:
        raise NotFound("is a pipe, a socket or a device, not a file", path=name, hint=hint) from None
    except OSError as error:
        raise NotFound(f"cannot be read: {error.strerror}", path=name) from None
    with opened as file:
        try:
            return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise NotFound(f"cannot be read: {error.strerror}", path=name) from None


def decode(data: bytes, path: str, coding: re.Pattern[bytes] | None = None) -> str:
    """The text of a file: UTF-8, or UTF-16 and UTF-32 where a byte order mark or the bytes say so.

    Args:
        data: the content.
        path: how the file is shown.
        coding: finds the name of another encoding that the file itself states.

    Raises:
        Malformed: if it is longer than :data:`MAX_BYTES`, a key, a pointer of Git LFS, binary, or in another encoding.
    """
    if len(data) > MAX_BYTES:
        raise Malformed(f"is larger than {MAX_BYTES // 2**20} MiB, which is too large for a lockfile", path=path)
    if _KEY.match(data):
        raise Malformed("is a key or a certificate, and is not read", path=path)
    if size_of_content(data) is not None:
        raise Malformed("is a pointer of Git LFS, not the file", path=path, hint="fetch it with `git lfs pull`")
    encoding = next((encoding for mark, encoding in _BOMS if data.startswith(mark)), None)
    stated = coding.match(data) if coding is not None and encoding is None and b"coding" in data else None
    if stated is not None:
        return _decode_as(stated[1].decode("ascii", "replace"), data, path)
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


def _decode_as(encoding: str, data: bytes, path: str) -> str:
    """The text in the encoding that the file states.

    Raises:
        Malformed: if there is no such encoding, or the content is not in it.
    """
    hint = "save it as UTF-8"
    try:
        known = codecs.lookup(encoding).name not in _SLOW_CODECS
        text = data.decode(encoding) if known else ""
    except LookupError:
        known = False
    except UnicodeError as error:
        line = data.count(b"\n", 0, error.start) + 1 if isinstance(error, UnicodeDecodeError) else None
        raise Malformed(f"is not text in `{encoding[:40]}`, as it says", path=path, line=line, hint=hint) from None
    if not known:
        raise Malformed(f"is in `{encoding[:40]}`, an encoding that is not read", path=path, line=1, hint=hint)
    if "\0" in text:
        raise Malformed("is binary, not text", path=path)
    return text


def read_beside(document: Document, relative: str) -> Document:
    """Read the requirements that a document refers to (``-r other.txt``), inside of its root.

    Raises:
        SourceError: if the document has no folder (standard input), or as :func:`read_document`.
    """
    if document.file is None:
        raise SourceError("refers to a file, which standard input cannot provide", path=document.path)
    target = document.file.parent / relative
    shown = os.path.normpath(os.path.join(os.path.dirname(document.path), relative)).replace(os.sep, "/")
    root = document.root or root_of_file(document.file)
    if root.leads_outside(target):
        raise OutsideRoot(root.objection, path=shown)
    return Document(shown, decode(read_bytes(target, shown), shown, _PIP_CODING), target, root)

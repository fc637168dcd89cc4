"""The text of a file with what is needed to write it again: its encoding and its byte order mark."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from gradcompat.errors import EditError, SourceError
from gradcompat.formats.document import decode

# In the order in which they are told apart; a mark of UTF-32 begins with one of UTF-16.
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"", "utf-8"),
    (b"", "utf-16-le"),
    (b"", "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, line ends as in the file, and how it was encoded."""

    text: str
    mark: bytes
    encoding: str

    def encoded(self, text: str) -> bytes:
        """Another text in the same encoding."""
        return self.mark + text.encode(self.encoding)


def decoded(data: bytes, shown: str) -> Decoded:
    """The text of a file, such that encoding it gives the very same bytes.

    Raises:
        EditError: if it is no text.
    """
    try:
        text = decode(data, shown)
    except SourceError as error:
        raise EditError(error.message, path=shown, line=error.line, hint=error.hint) from None
    for mark, encoding in _ENCODINGS:
        if data.startswith(mark) and mark + text.encode(encoding) == data:
            return Decoded(text, mark, encoding)
    raise EditError("has an encoding that cannot be written again", path=shown)

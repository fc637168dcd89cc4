"""What can go wrong, as types: errors carry data, and the sentence is made when one is shown.

Expected outcomes (a finding, something that was skipped) are values; these are for work that could not be done.
"""

from __future__ import annotations

from gradcompat.redaction import redact


class GradcompatError(Exception):
    """The base of every error that is shown to the user as one line and a hint; credentials in them are hidden.

    Args:
        message: what is wrong, without the file and without a final period.
        path: the file it is about, if any.
        line: 1-based line in that file, if known.
        hint: what to do about it.
    """

    def __init__(
        self, message: str, *, path: str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        message = redact(message)
        super().__init__(message)
        self.message = message
        self.path = None if path is None else redact(path)
        self.line = line
        self.hint = None if hint is None else redact(hint)

    def __str__(self) -> str:
        if self.path is None:
            return self.message
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"`{place}`: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries when many lockfiles are read at once; keyword-only data must come along.
        return _rebuild, (type(self), self.message, self.path, self.line, self.hint)


def _rebuild(
    cls: type[GradcompatError], message: str, path: str | None, line: int | None, hint: str | None
) -> GradcompatError:
    return cls(message, path=path, line=line, hint=hint)


class SourceError(GradcompatError):
    """A lockfile, an environment or a context file could not be read."""


class NotFound(SourceError):
    """There is nothing at that path, or nothing that can be read."""


class OutsideRoot(SourceError):
    """A file of the target refers to something outside of the target's root; nobody has looked what is there."""


class UnsupportedFormatVersion(SourceError):
    """The format is known, this version of it is not."""


class Malformed(SourceError):
    """The content is not what the format allows."""


class Unrecognised(Malformed):
    """The content was understood, and is of another kind than the reader's."""


class TooComplex(Malformed):
    """Reading the content takes more steps than one input may cause."""


class KnowledgeError(GradcompatError):
    """The knowledge base could not be used."""


class InvalidIssue(KnowledgeError):
    """A record does not hold to the schema or to its own examples."""


class ResolutionError(GradcompatError):
    """No set of releases could be worked out."""


class IndexUnavailable(ResolutionError):
    """An index did not answer, answered with an error, or answered something that cannot be true."""


class ProbeError(GradcompatError):
    """A probe could not be run at all; one that ran and failed is a measurement."""


class ProbeUnavailable(ProbeError):
    """There is no interpreter to run it in, or no recipe of that name."""


class EditError(GradcompatError):
    """A file could not be changed as the plan needs, and was left as it is."""


class UsageError(GradcompatError):
    """The command was asked for something that makes no sense."""

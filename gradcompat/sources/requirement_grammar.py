"""Requirements and markers by the whole grammar of PEP 508, as packaging has it.

Importing packaging's parser takes as long as starting Python twice: what is plain is read without it.
"""

from __future__ import annotations

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement

from gradcompat.quotation import parser_reason
from gradcompat.redaction import is_token


class NotRequirement(ValueError):
    """A text is no requirement; the message says why, without its words."""


def parsed_name(wanted: str) -> str:
    """The name that a requirement without a marker asks for.

    Raises:
        NotRequirement: if it is none.
    """
    try:
        requirement = Requirement(wanted)
    except (InvalidRequirement, RecursionError, ValueError) as error:
        raise NotRequirement(f"is no requirement: {_first_line(error)}") from None
    if is_token(requirement.name):
        raise NotRequirement("has the form of a token, not of a name")
    return requirement.name


def marker_problem(marker: str) -> str | None:
    """Why a text is no marker; None if it is one."""
    try:
        Marker(marker)
    except (InvalidMarker, RecursionError, ValueError) as error:
        return f"its marker is invalid: {_first_line(error)}"
    return None


def _first_line(error: BaseException) -> str:
    # From 26.4 on packaging counts the levels itself.
    if isinstance(error, RecursionError) or "nested more than" in str(error):
        return "nested too deeply"
    line = parser_reason(str(error).partition("\n")[0]).rstrip(".:")
    return line[:1].lower() + line[1:]

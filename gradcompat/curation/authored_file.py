"""The file of records that an author works on: the one that is named, or the one of the checkout."""

from __future__ import annotations

import os

from gradcompat.errors import UsageError

ISSUES = "knowledge/issues.yaml"


def authored_file(named: str | None) -> str:
    """The path of the file of records.

    Args:
        named: what the author says; None for the file of the checkout that is the working folder.

    Raises:
        UsageError: if nothing is named and the working folder is no checkout.
    """
    if named is not None:
        return named
    if not os.path.exists(ISSUES):
        hint = "name a file of records, or go to the top of a checkout; the installed records are compiled"
        raise UsageError("is not here, so there are no records to work on", path=ISSUES, hint=hint)
    return ISSUES

"""Python's literals, as programs print them."""

from __future__ import annotations

import ast
import warnings
from typing import Any


def literal(text: str) -> Any:
    """The value of a literal.

    Raises:
        ValueError: if the text is none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know
            return ast.literal_eval(text)
    except (SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise ValueError("is not a literal") from error

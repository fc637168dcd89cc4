"""Questions to the person at the terminal, and answers that were given as options; a wrong one is asked again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gradcompat.errors import UsageError
from gradcompat.knowledge.record_builder import problems
from gradcompat.renderers.terminal import width, wrapped
from gradcompat.startup.lazy_dataclasses import dataclass, field

T = TypeVar("T")


@dataclass(slots=True)
class Questions:
    """One after the other; each answer is judged by the schema, together with those before it.

    Attributes:
        complete: whether the options give all that a record has to have; then what they leave out has its default.
        answers: fields of the record.
    """

    complete: bool = False
    answers: dict[str, Any] = field(default_factory=dict)

    def ask(
        self,
        option: str,
        given: Sequence[str] | None,
        question: str,
        parse: Callable[[str], T],
        place: Callable[[list[T]], dict[str, Any]],
        *,
        least: int = 1,
        most: int | None = 1,
        default: str = "",
    ) -> None:
        """Take as many answers as are wanted, from the command line or else from the terminal.

        Args:
            option: how it is called there.
            given: what stands there; None if the option does not.
            question: for the terminal.
            parse: one answer; it raises ValueError with what is wrong.
            place: all answers so far → fields of the record.
            least: how many there have to be.
            most: how many there can be.
            default: what an empty line stands for.

        Raises:
            UsageError: if one is wrong and cannot be asked for again, or is missing.
        """
        waiting = iter(given or ()) if given is not None or self.complete else None
        found: list[T] = []
        while most is None or len(found) < most:
            text = _typed(question if not found else "another", default) if waiting is None else next(waiting, None)
            ended = text is None or waiting is not None
            answer = (default if text is None and not found else text or "").strip()
            try:
                if answer:
                    tried = [*found, parse(answer)]
                elif len(found) < least:
                    raise ValueError(f"`{option}` is missing")
                else:
                    tried = found
                fields = place(tried)
                wrong = problems({**self.answers, **fields})
            except ValueError as error:
                wrong = [str(error)]
            if wrong:
                if ended:
                    raise UsageError("; ".join(wrong), hint=f"`{option}` gives it; on a terminal it is asked for")
                for message in wrong:
                    sys.stderr.write(wrapped(message, width(), "  ", "  ") + "\n")
                continue
            self.answers |= fields
            found = tried
            if not answer:
                return


def _typed(question: str, default: str = "") -> str | None:
    """A line from the terminal or a pipe; None at its end. The question is no result, and stands on standard error."""
    sys.stderr.write(f"{question} [{default}]: " if default else f"{question}: ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        sys.stderr.write("\n")
    return (line.strip() or default) if line else None

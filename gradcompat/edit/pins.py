"""What an editor of dependency files is asked for, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gradcompat.model.plan import ChangeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PinEdit:
    """One package that shall move.

    Attributes:
        package: its name as PEP 503 normalises it; in files of conda, conda's name.
        version_from: the version that is there, if it is known.
        version_to: the version that it moves to.
        kind: which way; counts only where ``version_from`` is not known.
        direct: the project asks for it itself; None where nobody knows.
        hashes: ``sha256:…`` of all files of the new version, for files that pin with hashes.
    """

    package: str
    version_from: str | None = None
    version_to: str
    kind: ChangeKind = "upgrade"
    direct: bool | None = None
    hashes: tuple[str, ...] = ()


class NotEdited(NamedTuple):
    """A package that an editor left alone, and why."""

    package: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A text with pins moved.

    Attributes:
        text: the whole text; the same as before if nothing had to change.
        settled: packages that the text now holds to the new version, those that it held there before included.
        notes: what is worth knowing, each a sentence.
        not_edited: packages that are not settled, in the order of the pins.
    """

    text: str
    settled: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    not_edited: tuple[NotEdited, ...] = ()


NOT_NAMED = "is not named here"


@dataclass(slots=True)
class Outcome:
    """What an editor notes while it goes through a text; one word on each package comes of it.

    A reason counts for a package only if nothing of it was settled elsewhere in the text: otherwise it is a note.
    """

    settled: dict[str, None]
    reasons: dict[str, list[str]]
    notes: dict[str, None]

    @classmethod
    def empty(cls) -> Outcome:
        """Nothing noted yet."""
        return cls({}, {}, {})

    def settle(self, package: str) -> None:
        """The text holds the package to the new version in one more place."""
        self.settled[package] = None

    def leave(self, package: str, reason: str) -> None:
        """A place that speaks of the package is left as it is."""
        reasons = self.reasons.setdefault(package, [])
        if reason not in reasons:
            reasons.append(reason)

    def note(self, sentence: str) -> None:
        """Something worth knowing, once."""
        self.notes[sentence] = None

    def edited(self, text: str, packages: tuple[str, ...], absent: str = NOT_NAMED) -> Edited:
        """The answer about these packages; ``absent`` is the reason for those that nothing was noted of."""
        settled = tuple(package for package in packages if package in self.settled)
        notes = [*self.notes]
        for package in settled:
            notes += [f"`{package}` in another place: {reason}" for reason in self.reasons.get(package, ())]
        return Edited(
            text=text,
            settled=settled,
            notes=tuple(notes),
            not_edited=tuple(
                NotEdited(package, "; ".join(self.reasons.get(package, [absent])))
                for package in packages
                if package not in self.settled
            ),
        )

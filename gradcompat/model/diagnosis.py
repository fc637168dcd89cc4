"""What a log shows, and what it probably means."""

from __future__ import annotations

from gradcompat.model.assumption import Assumption
from gradcompat.model.environment import Location, Skipped
from gradcompat.model.knowledge_source import KnowledgeSource
from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something that a log or a curve shows, before anybody asks why.

    Attributes:
        kind: what it is, in one word with hyphens: ``loss-zero``, ``grad-norm-constant``, ``loss-times-accumulation``.
        sentence: what was seen, with its numbers, as a clause without full stop: "loss is exactly 0 in 40 of 48 steps".
        lines: where, counted from 1: the first lines that show it, few; empty for a binary file.
        example: one place as a Trainer prints it, ``{'loss': 0.0, 'grad_norm': nan}``, whichever tool wrote the file;
            records describe their symptoms in that form.
        harmless: it is worth saying and is nothing to worry about.
    """

    kind: str
    sentence: str
    lines: tuple[int, ...]
    example: str = ""
    harmless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An observation in its file: the clause, where it first stands, and the text there (cut, and free of escapes)."""

    sentence: str
    location: Location
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One explanation of what was seen.

    Attributes:
        title: what it probably is.
        score: to rank by, from 0 to 1; not a probability that anybody measured.
        because: what speaks for it, and what in the environment was seen to fit.
        against: what speaks against it, or is not known to fit.
        settles: what would settle it, each a sentence or a command line.
        assumed: what was presumed of the run.
        issue: id of the record, if one describes it.
        harmless: an explanation of something that is nothing to worry about.
        unused: it takes a feature that the run, as far as it was read, does not use.
    """

    title: str
    score: float
    because: tuple[Seen, ...]
    against: tuple[str, ...] = ()
    settles: tuple[str, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    issue: str | None = None
    harmless: bool = False
    unused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledOut:
    """A record whose symptoms were seen and that what is known of the run does not allow."""

    issue: str
    title: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """One file that was read: how many lines it has, and how many metrics were found in it."""

    path: str
    kind: str
    lines: int | None
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisReport:
    """Everything that ``diagnose`` says.

    Attributes:
        files: what was read.
        versions: the packages whose versions were seen and that records speak of, in words, with places.
        settings: the settings that were seen and that records speak of, in words, with places.
        diagnoses: the most probable first; then those of features that are not used; harmless ones last.
        ruled_out: records whose symptoms were seen and whose versions or settings were not.
        unexplained: errors that no diagnosis explains.
        skipped: what could not be read.
        records: how many records were searched for.
        date: their date.
        exit_status: that of the command.
        sources: the files that the records come from; ``date`` is of the first.
    """

    files: tuple[ReadFile, ...]
    versions: tuple[Seen, ...]
    settings: tuple[Seen, ...] = ()
    diagnoses: tuple[Diagnosis, ...]
    ruled_out: tuple[RuledOut, ...]
    unexplained: tuple[Seen, ...]
    skipped: tuple[Skipped, ...]
    records: int
    date: str
    exit_status: int
    sources: tuple[KnowledgeSource, ...] = ()

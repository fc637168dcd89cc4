"""``gradcompat knowledge new``: asks what a record needs, and writes it with its examples behind the last one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from packaging.version import Version

from gradcompat.cli.app import ISSUES
from gradcompat.edit.writing import FileEdit, write
from gradcompat.errors import IndexUnavailable, KnowledgeError, UsageError
from gradcompat.index.snapshot import Snapshot
from gradcompat.knowledge.drafting import combination, condition, package_term, problems, reference, remedy
from gradcompat.knowledge.example_making import examples
from gradcompat.knowledge.lint import is_own, lint
from gradcompat.knowledge.load import load
from gradcompat.knowledge.measured import FOLDER, read_rows
from gradcompat.knowledge.record_yaml import appended, ids_in
from gradcompat.knowledge.records import read
from gradcompat.knowledge.schema import Category
from gradcompat.phrases import counted
from gradcompat.regular_files import read_regular
from gradcompat.renderers.terminal import safe, width, wrapped
from gradcompat.versions import BELOW, VersionSet

T = TypeVar("T")

_CATEGORIES = ", ".join(get_args(Category))
_ORDER = (
    "id", "summary", "details", "level", "silent", "informational", "categories", "affected", "symptoms", "remedies",
    "references", "range_basis", "evidence",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was said on the command line; None is asked for."""

    id: str | None = None
    packages: Sequence[str] | None = None
    conditions: Sequence[str] | None = None
    summary: str | None = None
    details: str | None = None
    categories: Sequence[str] | None = None
    silent: bool | None = None
    basis: str | None = None
    level: str | None = None
    informational: bool | None = None
    symptoms: Sequence[str] | None = None
    references: Sequence[str] | None = None
    remedies: Sequence[str] | None = None
    evidence: Sequence[str] | None = None


def run(path: str, given: Given) -> int:
    """Ask, write, and check what was written.

    Args:
        path: the file of records.
        given: answers; what is missing is asked for on the terminal.

    Returns:
        0 if there is nothing wrong with the record, 1 if something is left to do.

    Raises:
        KnowledgeError: if the file cannot be read, or none can be put behind its records.
        UsageError: if an answer is wrong and cannot be asked for again, or is missing.
        EditError: if the file cannot be written.
    """
    before = _read(path)
    text = before.decode("utf-8")
    authored = read(Path(path))
    families = {other: name for name, facts in authored.packages.items() for other in facts.also}
    if is_own(authored):
        families = {**families, **load().names.families}
    record = _asked(given, ids_in(text), families)
    record["examples"] = examples(record["affected"][0], _releases())
    if wrong := problems(record):
        raise UsageError(f"nothing was written: {'; '.join(wrong)}")
    after = appended(text, record, path).encode("utf-8")
    write([FileEdit(path=Path(path), shown=path, before=before, after=after)])
    sys.stdout.write(f"{record['id']} is written behind the last record of {path}\n")
    return _left(path, record)


def _read(path: str) -> bytes:
    try:
        data = read_regular(path)
        data.decode("utf-8")
    except OSError as error:
        raise KnowledgeError(f"cannot be read: {error.strerror}", path=path) from None
    except UnicodeDecodeError:
        raise KnowledgeError("is not UTF-8 text", path=path) from None
    return data


def _asked(given: Given, taken: Sequence[str], families: Mapping[str, str]) -> dict[str, Any]:
    """All that a record has but its examples, in the order in which it is written.

    Args:
        given: what need not be asked for.
        taken: ids that there are.
        families: another name of a package → the one that stands for both.
    """
    questions = _Questions()
    ask = questions.ask
    prefix = taken[-1].partition("-")[0] if taken else "GC"
    numbers = (int(one.partition("-")[2]) for one in taken if one.startswith(f"{prefix}-"))
    following = f"{prefix}-{max(numbers, default=0) + 1:04d}"

    def free(text: str) -> str:
        if text < following:
            raise ValueError(f"`{text}` is not behind the last id: the next free one is {following}")
        return text

    def package(text: str) -> tuple[str, str]:
        name, versions = package_term(text)
        if name in families:
            raise ValueError(f"`{name}` is another name of `{families[name]}`: write that one, it stands for both")
        return name, versions

    ask("--id", _list(given.id), "Id", free, lambda ids: {"id": ids[0]}, default=following)
    ask(
        "--package",
        given.packages,
        "A package and its affected versions, e.g. transformers >=4.49.0,<4.52.1 (an empty line ends the list)",
        package,
        lambda terms: {"affected": [combination(dict(terms), [])]},
        most=None,
    )
    packages = questions.answers["affected"][0]["packages"]
    ask(
        "--condition",
        given.conditions,
        "A condition that is really needed, e.g. training.gradient_accumulation_steps>1 or model.architecture=Llava* "
        "(`gradcompat explain settings` lists the keys; an empty line ends the list)",
        condition,
        lambda conditions: {"affected": [combination(packages, conditions)]},
        least=0,
        most=None,
    )
    for key, option, text, question in (
        ("summary", "--summary", given.summary, "The symptom in one sentence, as someone who suffers from it says it"),
        ("details", "--details", given.details, "The mechanism, in a few sentences of your own"),
    ):
        ask(option, _list(text), question, str, _of(key))
    ask(
        "--category",
        given.categories,
        f"A category: {_CATEGORIES} (an empty line ends the list)",
        str,
        lambda found: {"categories": found},
        most=None,
    )
    silent = None if given.silent is None else "yes" if given.silent else "no"
    ask("--silent", _list(silent), "Does the run go on, wrong, without an error? yes or no", _truth, _of("silent"))
    ask(
        "--basis",
        _list(given.basis),
        "How the bounds are known: measured, wheels, tags, release-notes or reported",
        str,
        _of("range_basis"),
    )
    level = "warning" if questions.answers["range_basis"] == "reported" else "error"
    ask("--level", _list(given.level), "Level: error, warning or note", str, _of("level"), default=level)
    if questions.answers["level"] == "note":
        ask(
            "--informational",
            _list(None if given.informational is None else "yes" if given.informational else "no"),
            "Is it a change of behaviour, and no defect? yes or no",
            _truth,
            _of("informational"),
            default="no",
        )
    ask(
        "--symptom",
        given.symptoms,
        "A pattern of the message in a log, as a regular expression, where it is loud (an empty line ends the list)",
        str,
        lambda found: {"symptoms": found},
        least=0,
        most=None,
    )
    ask(
        "--reference",
        given.references,
        "A reference, e.g. REPORT https://… or FIX https://… (an empty line ends the list)",
        reference,
        lambda found: {"references": found},
        most=None,
    )
    ask(
        "--remedy",
        given.remedies,
        "A remedy, the best one first: upgrade NAME RANGE, downgrade NAME RANGE, set KEY=VALUE, code WHAT TO DO or "
        "install WHAT GOES TOGETHER; "
        f"{_suggested(packages)}(an empty line ends the list)",
        remedy,
        lambda found: {"remedies": found},
        least=0,
        most=None,
    )
    ask(
        "--evidence",
        given.evidence,
        "What was run or read, when, in which releases, with what result (an empty line ends the list)",
        str,
        lambda found: {"evidence": found},
        most=None,
    )
    return {key: questions.answers[key] for key in _ORDER if questions.answers.get(key) not in (None, [])}


def _list(text: str | None) -> list[str] | None:
    return None if text is None else [text]


def _of(key: str) -> Callable[[list[Any]], dict[str, Any]]:
    return lambda answers: {key: answers[0]}


def _truth(text: str) -> bool:
    known = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
    if text.lower() not in known:
        raise ValueError(f"`{text}` is neither yes nor no")
    return known[text.lower()]


def _suggested(packages: Mapping[str, str]) -> str:
    """The remedy that a bound has in it: the release that ends the last range."""
    for name, text in packages.items():
        end = None if text == "absent" else VersionSet.parse(text).intervals[-1][1]
        if end is not None and end[1] == BELOW:
            return f"the range ends with upgrade {name} >={end[0]} "
    return ""


@dataclass(slots=True)
class _Questions:
    """One after the other; each answer is judged by the schema, together with those before it."""

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
        waiting = None if given is None else iter(given)
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


def _releases() -> Callable[[str], Sequence[Version]]:
    """The releases of a package that nobody has withdrawn, by the snapshot that ships with us."""
    snapshot = Snapshot()

    def of(name: str) -> Sequence[Version]:
        try:
            return [one.version for one in snapshot.releases(name) if not one.yanked]
        except IndexUnavailable:
            sys.stderr.write(
                f"note: which releases {safe(name)} has is not known here: examples name its bounds alone\n"
            )
            return ()

    return lru_cache(of)


def _left(path: str, record: Mapping[str, Any]) -> int:
    """Print what `lint` has to say of the new record, and what else is left to do."""
    authored = read(Path(path))
    packages = record["affected"][0]["packages"]
    lines = {f"horizon: has no line for {name}:" for name in packages}
    found = [
        problem
        for problem in lint(authored, read_rows(Path(path).parent / FOLDER), load() if is_own(authored) else None)
        if problem.record == record["id"] or any(problem.message.startswith(line) for line in lines)
    ]
    for problem in found:
        sys.stdout.write(f"{problem}\n")
    todo = ["look at the examples, which were made from bounds and conditions"]
    if record["range_basis"] == "measured":
        todo.append("`measured` needs `probes`, and rows of `gradcompat knowledge measure` on both sides of each bound")
    if record["range_basis"] == "reported":
        todo.append("`reported` is no error: read the releases, or measure them, and say so in `range_basis`")
    if not is_own(authored):
        todo.append(f"`gradcompat knowledge compile {path}`" if path != ISSUES else "`gradcompat knowledge compile`")
    said = counted(len(found), "problem") if found else "no problems"
    sys.stdout.write(wrapped(f"{said}; left to do: {'; '.join(todo)}", width(), "", "") + "\n")
    return 1 if found else 0

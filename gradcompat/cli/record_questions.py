"""The questions that `gradcompat knowledge new` asks, and what options answer of them beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args

from gradcompat.cli.questions import Questions
from gradcompat.knowledge.record_builder import combination, condition, package_term, reference, remedy
from gradcompat.knowledge.schema import Category
from gradcompat.requirements.versions import BELOW, VersionSet
from gradcompat.startup.lazy_dataclasses import dataclass

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


def record_from(given: Given, taken: Sequence[str], families: Mapping[str, str]) -> dict[str, Any]:
    """All that a record has but its examples, in the order in which it is written.

    Args:
        given: what need not be asked for.
        taken: ids that there are.
        families: another name of a package → the one that stands for both.
    """
    questions = Questions(complete=_complete(given))
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


def _complete(given: Given) -> bool:
    """Do the options give all that has no default?"""
    needed = (given.packages, given.summary, given.details, given.categories, given.silent, given.basis)
    remedied = given.remedies is not None or given.informational is True
    return remedied and None not in (*needed, given.references, given.evidence)


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

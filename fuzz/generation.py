"""The inputs of a campaign: the seed, the number and the corpus say what an input is, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePath
from random import Random

from fuzz import folders
from fuzz.grammars.table import ANY, GRAMMARS, file_name
from fuzz.grammars.words import chance, pick
from fuzz.inputs import Entry, Input
from fuzz.mutation import mutated
from fuzz.seeds import Seeds
from fuzz.targets import EDIT_KINDS, READ_KINDS, SCAN_KINDS
from gradcompat.dependency_formats import by_name

# What is cheap is tried often; every class of targets has a share that finds something.
SHARES = {
    "read": 0.56,
    "scan": 0.36,
    "edit": 0.04,
    "check-file": 0.009,
    "check-folder": 0.009,
    "diagnose": 0.01,
    "inspect": 0.008,
    "plan": 0.0017,
    "fix": 0.0017,
    "process": 0.0006,
}
_FROM_CORPUS = 0.3
_MUTATED = 0.5
_LARGEST_MUTATED = 1_500_000
Corpus = Sequence[Callable[[], Input]]


def generated(seed: int, number: int, seeds: Seeds, corpus: Corpus = (), only: str | None = None) -> Input:
    """The input of that number.

    Args:
        seed: of the campaign.
        number: of the input.
        seeds: files that mutation starts from.
        corpus: what the campaign had kept when the input was made.
        only: the one class of :data:`SHARES`, or the one kind, that is made.
    """
    random = Random(f"{seed}:{number}")  # noqa: S311  # no secrets are made here
    share, kind = _class(random, only)
    if share in ("read", "scan", "edit"):
        kinds = {"read": READ_KINDS, "scan": SCAN_KINDS, "edit": EDIT_KINDS}[share]
        kind = kind or pick(random, kinds)
        data, origin = _text(kind, random, seeds, corpus)
        return Input(target=share, kind=kind, entries=(Entry(path=file_name(kind), data=data),), origin=origin)
    if share in ("check-file", "diagnose") and not chance(random, 0.1):
        kind = kind or ("log" if share == "diagnose" and chance(random, 0.7) else pick(random, list(GRAMMARS)))
        data, origin = _text(kind, random, seeds, corpus)
        target = share.removesuffix("-file")
        return Input(
            target=target, kind=kind, entries=(Entry(path=file_name(kind), data=data), *folders.OUTSIDE), origin=origin
        )
    kind = pick(random, list(folders.TEMPLATES))
    entries = folders.folder(kind, random)
    origin = "grammar"
    if chance(random, 0.3):
        entries, origin = _with_a_mutation(entries, random), "mutation"
    return Input(
        target=share.removesuffix("-folder").removesuffix("-file"),
        kind=f"folder {kind}",
        entries=entries,
        origin=origin,
    )


def _class(random: Random, only: str | None) -> tuple[str, str | None]:
    if only in SHARES:
        return str(only), None
    if only is not None:
        return ("read" if only in READ_KINDS else "scan" if only in SCAN_KINDS else "check-file"), only
    return random.choices(list(SHARES), list(SHARES.values()))[0], None


def _text(kind: str, random: Random, seeds: Seeds, corpus: Corpus) -> tuple[bytes, str]:
    draw = random.random()
    if corpus and draw < _FROM_CORPUS:
        kept = pick(random, corpus)()
        data = kept.entries[0].data if kept.entries[0].kind == "file" else b""
        if data and len(data) < _LARGEST_MUTATED:
            return mutated(data, pick(random, corpus)().entries[0].data, random), "corpus"
    if draw < _FROM_CORPUS + _MUTATED:
        seed = seeds.of(kind, random)
        if seed is not None:
            return mutated(seed, seeds.of(kind, random) or b"", random), "mutation"
    grammar = pick(random, GRAMMARS.get(kind, ANY)) if chance(random, 0.97) else pick(random, ANY)
    data = grammar(random).encode("utf-8", "surrogatepass" if chance(random, 0.02) else "replace")
    if chance(random, 0.2):
        return mutated(data, data, random), "mutation"
    return data, "grammar"


def _with_a_mutation(entries: tuple[Entry, ...], random: Random) -> tuple[Entry, ...]:
    """One of the files is damaged: a report has to name it only where its name says that it is an environment."""
    inside = [one for one in entries if one.kind == "file" and not one.path.startswith("../")]
    one = pick(random, inside)
    reader = by_name(PurePath(one.path).name)
    named = one.named and reader is not None and reader.kind != "script"
    changed = replace(one, data=mutated(one.data, pick(random, inside).data, random), named=named, unreadable=False)
    return tuple(changed if entry is one else entry for entry in entries)

"""Errors of a log that say how something was called, held against how the releases of its package are called.

An error names a class without its module, so every class of that name in a package is looked at, wherever it is
defined, and of functions those at its top. Something is said where they agree: nobody knows which of two it was. That
the class refuses the call the error itself says; the tables say in which releases it would not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradcompat.audit.logged_run import LACKS, MAY_LACK, LoggedRun
from gradcompat.breaks.error_names import WrongCall, refused_keyword, wrong_call
from gradcompat.breaks.release_ranges import ranges_of
from gradcompat.messages import joined
from gradcompat.model.diagnosis import Diagnosis, Seen
from gradcompat.releases.answers import Signature
from gradcompat.releases.table import ReleaseTable, package_of, table_of

Fits = Callable[[Signature], "bool | None"]
"""Would the call have gone through? None where that is not certain."""


def of_refused(seen: Seen, run: LoggedRun) -> Iterator[Diagnosis]:
    """The releases in which what was called takes the argument that it has refused."""
    refused = refused_keyword(seen.text or "")
    if refused is not None:
        called, keyword = refused
        say = (f"does not take `{keyword}`", "does")
        yield from _told(called, lambda signature: signature.accepts(keyword), say, (), seen, run)


def of_call(seen: Seen, run: LoggedRun) -> Iterator[Diagnosis]:
    """The releases that do not ask for the arguments that were left out, or take as many as were given."""
    call = wrong_call(seen.text or "")
    if call is None:
        return
    ways: tuple[str, ...] = ()
    if call.most is None:
        names = joined(tuple(f"`{name}`" for name in call.left_out), "and")
        say = (f"asks for {names}", "does not")
        ways = (f"whether it goes away with a call that gives {names}",)
    else:
        say = (f"takes fewer than {call.given - call.is_method} arguments by position", "takes as many")
    yield from _told(call.called, lambda signature: _goes_through(call, signature), say, ways, seen, run)


def _goes_through(call: WrongCall, signature: Signature) -> bool | None:
    if not signature.certain:
        return None
    if call.most is None:
        asked = [
            one.default is None for one in signature.parameters if one.name in call.left_out and "*" not in one.kind
        ]
        return True if not any(asked) else False if asked.count(True) == len(call.left_out) else None
    if any(one.kind == "*" for one in signature.parameters):
        return True
    taken = sum(one.kind in ("positional", "any") for one in signature.parameters) + call.is_method
    return True if taken >= call.given else False if taken == call.most else None  # None: another one of that name


def _told(
    called: str, fits: Fits, say: tuple[str, str], ways: tuple[str, ...], seen: Seen, run: LoggedRun
) -> Iterator[Diagnosis]:
    """What is said of the packages near the run some of whose releases would not have failed.

    Args:
        called: the class or function, without its module.
        fits: whether a signature fits the call.
        say: what a release does that fails, and what another one does.
        ways: what would settle it besides another release.
        seen: the error.
        run: which has it.
    """
    for top in run.tops():
        package = package_of(top)
        table = None if package is None else table_of(package)
        listed = () if package is None else run.versions.get(package, ())
        if package is None or table is None or not table.numbers.keys() >= set(listed):
            continue
        fitting = _fitting(called, fits, table, run)
        failing = [fitting[table.numbers[version]] for version in listed] or fitting
        if True not in fitting or False not in failing or (listed and set(failing) != {False}):
            continue
        versions = ranges_of(list(map(str, table.versions)), [fits is True for fits in fitting].__getitem__)
        where = tuple(f"{package} {version}" for version in listed) or (f"some releases of {package}",)
        yield Diagnosis(
            title=f"{called} {say[0]} in {joined(where, 'and')}, and {say[1]} in {versions} (read in released files)",
            score=LACKS if listed else MAY_LACK,
            because=(seen, *run.entries(package, "")),
            against=() if listed else (f"no version of {package} was seen",),
            settles=(f"whether it goes away with {package} {versions}", *ways),
        )


def _fitting(called: str, fits: Fits, table: ReleaseTable, run: LoggedRun) -> list[bool | None]:
    """Of each release whether everything of that name fits the call, or nothing does; None where neither is certain."""
    first = called.partition(".")[0]
    # Everybody has a function `main`: it is a package's where it stands at its top.
    modules = table.defined_in(first) if first.lstrip("_")[:1].isupper() else table.imports
    names = [f"{module}.{called}" for module in modules]
    besides = run.besides(table.package)
    found: list[bool | None] = []
    for version in table.versions:
        said: set[bool | None] = set()
        for name in names:
            signatures = [table.signature(version, name, beside) for beside in besides]
            said.update(fits(signature) for signature in signatures if signature is not None)
        found.append(said.pop() if len(said) == 1 else None)
    return found

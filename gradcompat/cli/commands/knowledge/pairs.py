"""``gradcompat knowledge pairs``."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

import typer

from gradcompat.breaks import module_needs
from gradcompat.breaks.pair_matrix import pair_matrix
from gradcompat.breaks.pairs import COMPILED, Pair, known_names, pair_of, pairs_among
from gradcompat.cli.commands.knowledge.matrix import FORMATS
from gradcompat.cli.parameters import TableFormat
from gradcompat.errors import UsageError
from gradcompat.messages import counted
from gradcompat.releases.table import ReleaseTable, table_of, tabled_packages
from gradcompat.requirements.names import normalise


def command(
    *,
    package: Annotated[
        str | None, typer.Argument(metavar="[PACKAGE]", help="The package that is imported. Without one, a list.")
    ] = None,
    other: Annotated[str | None, typer.Argument(metavar="[OTHER]", help="The package beside which it is.")] = None,
    form: TableFormat = "text",
    compiling: Annotated[
        bool, typer.Option("--compile", help="Compile the tables of releases into the pairs that `check` reads.")
    ] = False,
) -> int:
    """Show which releases of two packages can be imported beside each other, as their wheels say.

    Only what importing the package executes counts: what stands behind a condition or in a `try` needs nothing.

    Exit status:
      0  it is shown, or written
      2  wrong usage, or nothing is known of a package

    Examples:
      gradcompat knowledge pairs
      gradcompat knowledge pairs peft transformers
      gradcompat knowledge pairs peft transformers --format svg > peft.svg
    """
    if form not in FORMATS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(FORMATS)}")
    if compiling:
        return _compile(package)
    if package is None:
        _list()
        return 0
    if other is None:
        raise UsageError(f"`{package}` is one package, and a pair is two", hint="`knowledge pairs` lists them")
    pair, (consumer, provider) = _pair(normalise(package), normalise(other))
    import_module(FORMATS[form]).render(pair_matrix(pair, consumer, provider), sys.stdout)
    return 0


def _pair(package: str, other: str) -> tuple[Pair, tuple[ReleaseTable, ReleaseTable]]:
    """The pair in the order in which something is known of it."""
    found = pair_of(package, other) or pair_of(other, package)
    if found is None:
        found = Pair(consumer=package, provider=other, oldest="", breaks=())
    return found, (_table(found.consumer), _table(found.provider))


def _table(package: str) -> ReleaseTable:
    table = table_of(package)
    if table is None:
        known = ", ".join(sorted(tabled_packages())) or "none"
        raise UsageError(f"no releases of `{package}` were read", hint=f"read are: {known}")
    return table


def _list() -> None:
    for pair in pairs_among(known_names()):
        needs = dict.fromkeys(need.text for one in pair.breaks for need in one.needs)
        named = ", ".join(list(needs)[:3])
        more = f" and {len(needs) - 3} more" if len(needs) > 3 else ""
        sys.stdout.write(f"{pair.consumer} {pair.provider}: {named}{more}\n")


def _compile(package: str | None) -> int:
    """Write the pairs of all tables."""
    from gradcompat.curation.pair_compilation import (
        compiled_module_needs,
        compiled_pairs,
        module_needs_text,
        pairs_text,
    )

    if package is not None:
        raise UsageError("`--compile` writes the pairs of all packages", hint="name none")
    pairs = list(compiled_pairs())
    texts = {COMPILED: pairs_text(pairs), module_needs.COMPILED: module_needs_text(compiled_module_needs())}
    for path, text in texts.items():
        try:
            path.write_text(text, "utf-8", newline="\n")
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", path=str(path)) from None
    sys.stdout.write(f"{counted(len(pairs), 'pair')} written\n")
    return 0

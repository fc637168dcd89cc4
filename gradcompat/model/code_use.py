"""What code takes from other packages: imports, attributes of modules and keyword arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Literal

from gradcompat.model.environment import Location
from gradcompat.startup.lazy_dataclasses import dataclass

UseKind = Literal["import", "attribute", "keyword", "option", "key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeUse:
    """A name of another package that a file of the project cannot do without.

    Attributes:
        kind: ``import``: a statement imports it; ``attribute``: it is read from a module; ``keyword``: a call gives the
            argument; ``option``: a command line or a config gives it to a parser that fills dataclasses; ``key``: a
            config gives it to a model of pydantic, which passes over what it does not know.
        module: for ``import`` the module that it is imported from; else the top-level module of ``name``.
        name: what is imported, None for the module itself; else the full name of what is read or called, without the
            top-level module.
        keyword: the argument; None for ``import`` and ``attribute``.
        others: for ``option`` the full names of the dataclasses that the same parser fills: it may be a field of any;
            for ``keyword`` those of other packages that take it as well; for ``key`` the names of the model in older
            releases, and as ``a.b.*`` modules of which a model may take it.
        location: where it stands first in the file.
        conditional: it stands behind a condition, or in a module that is imported behind one: it may never run.
    """

    kind: UseKind
    module: str
    name: str | None
    keyword: str | None = None
    others: tuple[str, ...] = ()
    location: Location
    conditional: bool = False

    @property
    def full_name(self) -> str:
        """``transformers.TrainingArguments``, without the keyword."""
        return self.module if self.name is None else f"{self.module}.{self.name}"

    @property
    def what(self) -> tuple[str, str, str | None, str | None, tuple[str, ...]]:
        """What is taken, wherever that stands."""
        return self.kind, self.module, self.name, self.keyword, self.others

    @property
    def root(self) -> str:
        """The top-level module, which belongs to one distribution."""
        return self.module.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCode:
    """What the code beside an environment takes from other packages, in runs or not.

    Attributes:
        uses: each place once.
        idle: those of programs that train nothing and that no run leads to; all of them where there is no run.
        calls: what these programs call, with the arguments (:mod:`gradcompat.terms.calls`), and use, and where:
            somebody runs them, which is a presumption at most.
    """

    uses: tuple[CodeUse, ...] = ()
    idle: tuple[CodeUse, ...] = ()
    calls: tuple[tuple[str, Location], ...] = ()


def left_out(uses: Iterable[CodeUse], given: Set[str]) -> tuple[CodeUse, ...]:
    """The uses without those of names that the project puts into the modules of others itself."""
    if not given:
        return tuple(uses)
    return tuple(use for use in uses if given.isdisjoint(_beginnings(use.full_name)))


def _beginnings(name: str) -> Iterator[str]:
    """``a.b.c``, ``a`` and ``a.b``."""
    yield name
    end = name.find(".")
    while end >= 0:
        yield name[:end]
        end = name.find(".", end + 1)

"""Options that say where releases are looked up and which of them may be chosen; a check has none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from gradcompat.cli.declarations import Option
from gradcompat.cli.parameters import repeatable
from gradcompat.startup.lazy_dataclasses import dataclass, fields

if TYPE_CHECKING:
    from gradcompat.index.catalog import Lookup

Keep = Annotated[
    list[str],
    repeatable("--keep", metavar="NAME", help="A package whose version must not change. Repeatable."),
]
Offline = Annotated[
    bool, Option("--offline", help="Use the index snapshot that ships with gradcompat, and no network.")
]
IndexUrl = Annotated[
    str | None,
    Option("--index-url", metavar="URL", help="The package index. [default: as pip and uv are configured]"),
]
ExtraIndexUrl = Annotated[
    list[str],
    repeatable("--extra-index-url", metavar="URL", help="An additional index. Repeatable."),
]
ProjectIndex = Annotated[
    bool,
    Option("--project-index", help="Also query indexes that only a project file configures (uv.toml, `[tool.uv]`)."),
]
ExcludeNewer = Annotated[
    str | None,
    Option("--exclude-newer", metavar="DATE", help="Ignore releases uploaded on or after DATE."),
]
Prereleases = Annotated[
    bool, Option("--pre", help="Alphas, betas and candidates may be chosen, also where none is used.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineIndexParameters:
    """The package index, where nothing else will do."""

    index_url: IndexUrl = None
    extra_index_urls: ExtraIndexUrl

    @property
    def lookup(self) -> Lookup:
        """What is said of indexes; what has no option here keeps its default."""
        from gradcompat.index.catalog import Lookup

        known = {field.name for field in fields(Lookup)}
        return Lookup(**{field.name: getattr(self, field.name) for field in fields(self) if field.name in known})


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexParameters(OnlineIndexParameters):
    """Where releases are looked up."""

    offline: Offline = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionParameters(IndexParameters):
    """Where releases are looked up for a plan, and which of them may be chosen."""

    keep: Keep
    exclude_newer: ExcludeNewer = None
    project_index: ProjectIndex = False

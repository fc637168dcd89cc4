"""Short views of what the readers of conda's formats and of SBOMs return, for comparing them whole."""

from __future__ import annotations

from gradcompat.model.environment import Environment

# name, version or specifier, source, line, column
Row = tuple[str, str | None, str, int | None, int | None]


def rows(environment: Environment) -> list[Row]:
    return [
        (package.name, package.version or package.specifier, package.source, at.line, at.column)
        for package in environment.packages
        for at in [package.location]
    ]


def facts(environment: Environment) -> tuple[str, bool, str | None, str | None]:
    return environment.kind, environment.closed, environment.python, environment.platform

"""pyproject.toml files of real projects: each requirement gives one package, at the place where it stands."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gradcompat.formats.document import read_document
from gradcompat.model.environment import Environment
from gradcompat.requirements.versions import VersionSet, parse_version
from gradcompat.sources.pyproject import read


def projects(corpus: Path) -> list[tuple[Path, dict[str, Any], Environment]]:
    files = sorted((corpus / "pyproject").iterdir())
    assert len(files) >= 14
    return [(path, tomli.loads(path.read_text()), read(read_document(path, path.name))) for path in files]


def test_each_requirement_is_one_package(corpus: Path) -> None:
    for path, content, environment in projects(corpus):
        project = content.get("project", {})
        lists = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
        lists += content.get("dependency-groups", {}).values()
        wanted = [Requirement(text) for texts in lists for text in texts if isinstance(text, str)]
        own = canonicalize_name(project.get("name", "-"))
        expected = Counter(canonicalize_name(one.name) for one in wanted if canonicalize_name(one.name) != own)
        if "poetry" in content.get("tool", {}):
            continue
        found = Counter(package.name for package in environment.packages)
        assert found.keys() == expected.keys(), path.name
        # Lines that say the same, once others about the package narrow them, are one.
        assert found <= expected, path.name


def test_a_version_is_one_that_was_asked_for_and_stands_there(corpus: Path) -> None:
    seen = 0
    for path, _, environment in projects(corpus):
        lines = path.read_text().split("\n")
        for package in environment.packages:
            line, column = package.location.line, package.location.column
            assert line is not None
            assert column is not None
            rest = lines[line - 1][column - 1 :]
            if package.version is not None:
                seen += 1
                assert parse_version(package.version) is not None
                if "%2B" in rest:  # the version is encoded in a link, which is then the place
                    assert rest.startswith(package.name)
                    continue
                assert rest.startswith(package.version), (path.name, package)
                before = lines[line - 1][: column - 1].rstrip()
                # Behind `==`, in the quotes of Poetry, in a tag, or in the name of a wheel: never behind `>=`.
                assert before.endswith(("==", '"', "@v", "-", "@")), (path.name, package)
            elif package.specifier not in (None, "*"):
                VersionSet.parse(str(package.specifier))
                narrowed = canonicalize_name(re.split(r"[^\w.-]", rest)[0]) == package.name  # by another line
                assert narrowed or re.match(r"[<>=!~^(]", rest), (path.name, package)
            else:
                assert canonicalize_name(re.split(r"[^\w.-]", rest)[0]) == package.name or "://" in rest
    assert seen > 100


def test_the_only_gaps_are_of_what_the_build_decides(corpus: Path) -> None:
    gaps = {
        (path.name.split("__")[1], skipped.what, skipped.location.line if skipped.location is not None else None)
        for path, _, environment in projects(corpus)
        for skipped in environment.skipped
        if skipped.gap
    }
    assert gaps == {("instructlab", "dependencies", 26), ("instructlab", "optional-dependencies", 26)}

"""``check --config-from REVISION``: the options that a project keeps, as they are at a revision of its repository.

A change that is checked may bring options of its own: an ignored record, a waiver, a baseline, a record that is
withdrawn. With this option they take effect only when they have been merged, and a remark says which they are. Files
that the options name (records, proofs) and the baseline are those of the revision, too. What lies outside of the
repository is no part of a change, and counts as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from gradcompat.config.project_file import OWN, SHARED, ProjectFile, as_seen_from_here, project_file
from gradcompat.config.schema import options_in
from gradcompat.errors import UsageError
from gradcompat.files.regular_files import read_regular
from gradcompat.messages import joined
from gradcompat.model.environment import Location
from gradcompat.model.report import Remark
from gradcompat.suppression.git import Commit, Repository
from gradcompat.suppression.revision_diff import inside, private_folder
from gradcompat.suppression.revision_tree import Wanted, materialize_tree

KIND = "configuration-of-the-base"
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseOptions:
    """What counts of a project's options.

    Attributes:
        kept: as :func:`gradcompat.config.schema.configuration` has them.
        baseline: where the baseline lies that counts; None where the revision has none.
        remarks: what the change would have otherwise.
    """

    kept: Mapping[str, Any]
    baseline: Path | None
    remarks: tuple[Remark, ...]


@contextmanager
def base_options(revision: str, baseline: str | None) -> Iterator[BaseOptions]:
    """The options of a revision; the files that they name lie in a private folder as long as this is open.

    Raises:
        UsageError: if there is no such revision, or its options are not right.
    """
    try:
        repository = Repository.around(Path.cwd())
        commit = repository.commit(revision)
    except UsageError as error:
        message = error.message.replace("`--diff`", "`--config-from`")
        raise UsageError(message, path=error.path, hint=error.hint) from None
    with private_folder() as folder:
        yield _Reading(repository, commit, folder).options(baseline)


@dataclass(frozen=True, slots=True)
class _Reading:
    repository: Repository
    commit: Commit
    folder: Path

    @property
    def here(self) -> str:
        """The current folder, from the top of the repository."""
        return inside(".", self.repository.top) or ""

    def options(self, baseline: str | None) -> BaseOptions:
        candidates = {
            PurePosixPath(above, name).as_posix()
            for above in (self.here, *map(str, PurePosixPath(self.here).parents))
            for name in (OWN, SHARED)
        }
        first = self._file(self._laid_out("options", candidates))
        named = set() if first is None else self._named(first)
        beside = None if baseline is None else inside(baseline, self.repository.top)
        top = self._laid_out("all", candidates | named | ({beside} if beside is not None else set()))
        then = self._file(top)
        try:
            kept = {} if then is None else self._moved(options_in(then), then, top)
        except UsageError as error:
            raise UsageError(
                f"{error.message} (at {self.commit.shown})", path=error.path, line=error.line, hint=error.hint
            ) from None
        counting = None if baseline is None else Path(baseline) if beside is None else top / beside
        if counting is not None and beside is not None and not os.path.exists(counting):
            counting = None
        files = sorted(named | ({beside} if beside is not None else set()))
        return BaseOptions(kept=kept, baseline=counting, remarks=tuple(self._remarks(then, top, files)))

    def _laid_out(self, name: str, paths: set[str]) -> Path:
        top = self.folder / name
        top.mkdir()
        # A file that the change has moved is not looked for under its new name: the change would choose the options.
        wanted = Wanted(files=frozenset(paths), folders=(), beside=False)
        materialize_tree(self.repository, self.commit, wanted, top, moved=False)
        return top

    def _file(self, top: Path) -> ProjectFile | None:
        """The file of then, called as it is now; what lies above the repository is none of a change."""
        (top / self.here).mkdir(parents=True, exist_ok=True)
        found = project_file(top / self.here)
        if found is None or not found.path.is_relative_to(top):
            above = self.repository.top.parent
            return None if above == self.repository.top else project_file(above)
        return replace(found, shown=as_seen_from_here(self.repository.top / found.path.relative_to(top)))

    def _named(self, file: ProjectFile) -> set[str]:
        """The files of the revision that the options name, and the measurements beside records."""
        if not file.path.is_relative_to(self.folder):
            return set()
        folder = file.path.parent.relative_to(self.folder / "options").as_posix()
        places = [
            os.path.normpath(os.path.join(folder, text)).replace(os.sep, "/")
            for text in (*_texts(file.table.get("knowledge")), *_proofs(file.table))
        ]
        prefixes = {f"{place}/" for place in places} | {
            PurePosixPath(place).parent.joinpath("measured").as_posix() + "/" for place in places
        }
        return {
            entry.path
            for entry in self.repository.entries(self.commit.id)
            if entry.path in places or entry.path.startswith(tuple(prefixes))
        }

    def _moved(self, kept: dict[str, Any], file: ProjectFile, top: Path) -> dict[str, Any]:
        """Options whose files lie in the private folder, called and matched as in the work tree."""
        if not file.path.is_relative_to(top):
            return kept
        folder = self.repository.top / file.path.parent.relative_to(top)
        if "knowledge" in kept:
            records = kept["knowledge"].values()
            kept["knowledge"] = {
                as_seen_from_here(folder / record.path.relative_to(record.within)): record for record in records
            }
        if "waivers" in kept:
            kept["waivers"] = tuple(
                replace(one, folder=str(folder), proof=None if one.proof is None else str(file.path.parent / one.proof))
                for one in kept["waivers"]
            )
        return kept

    def _remarks(self, then: ProjectFile | None, top: Path, files: Sequence[str]) -> Iterator[Remark]:
        """What the change would have otherwise, in one sentence."""
        try:
            now = project_file(Path.cwd())
        except UsageError as error:
            path = error.path or OWN
            text = f"cannot be read as it is here ({error.message}); the options of {self.commit.shown} count"
            yield Remark(kind=KIND, level="note", text=text, location=Location(path=path, line=error.line))
            return
        changed = list(_differences({} if then is None else then.table, {} if now is None else now.table))
        changed += [f"`{self._shown(path)}`" for path in files if not _same(top / path, self.repository.top / path)]
        if then is not None and now is not None and then.shown != now.shown:
            changed.insert(0, f"options in `{now.shown}` and not in `{then.shown}`")
        if not changed:
            return
        shown = now.shown if now is not None else then.shown if then is not None else self._shown(files[0])
        more = [f"{len(changed) - _MOST_NAMED} more"] if len(changed) > _MOST_NAMED else []
        text = (
            f"the options of {self.commit.shown} apply; changes to them take effect after the "
            f"merge: {joined((*changed[:_MOST_NAMED], *more), 'and')}"
        )
        yield Remark(kind=KIND, level="note", text=text, location=Location(path=shown))

    def _shown(self, path: str) -> str:
        return as_seen_from_here(self.repository.top / path)


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _proofs(table: Mapping[str, Any]) -> list[str]:
    waivers = table.get("waivers")
    tables = [waiver for waiver in waivers if isinstance(waiver, dict)] if isinstance(waivers, list) else []
    return [table["proof"] for table in tables if isinstance(table.get("proof"), str)]


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The keys that differ; of waivers and ignored records, those that are new."""
    for key in sorted({*then, *now}):
        before, after = then.get(key), now.get(key)
        if before == after:
            continue
        if (
            key == "waivers"
            and isinstance(after, list)
            and (new := [one for one in after if one not in (before or [])])
        ):
            yield from (f"a waiver of {one.get('id')}" if isinstance(one, dict) else "a waiver" for one in new)
        else:
            yield f"`{key}`"


def _same(then: Path, now: Path) -> bool:
    """Has a file the same content?"""
    try:
        if not os.path.isfile(then) or not os.path.isfile(now) or then.stat().st_size != now.stat().st_size:
            return not os.path.exists(then) and not os.path.exists(now)
        return read_regular(then) == read_regular(now)
    except OSError:
        return False

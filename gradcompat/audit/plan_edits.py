"""The plans of a run as edits of the project's files, with what no editor does.

Pins are moved in the files that ask for packages, settings where they stand; for a lockfile there is the command of its
tool.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from gradcompat.audit.plans import PlanningResult, head_of
from gradcompat.audit.targets import File
from gradcompat.edit import settings as setting_editor
from gradcompat.edit.atomic_write import OUTSIDE, FileEdit, edited, leads_outside
from gradcompat.edit.lock_commands import LockCommand, caveat, lock_command
from gradcompat.edit.pins import NOT_NAMED, PinEdit
from gradcompat.edit.registry import edit_text
from gradcompat.edit.setting_values import SettingEdit
from gradcompat.errors import EditError, SourceError
from gradcompat.files.regular_files import read_regular
from gradcompat.formats.document import Document, decode, read_document
from gradcompat.index.catalog import hashes_of
from gradcompat.messages import change_text, setting_text
from gradcompat.model.environment import Setting
from gradcompat.model.plan import Change, Plan, SettingChange
from gradcompat.model.release import Catalogue
from gradcompat.scanners.any_config import scan
from gradcompat.sources.any_format import read
from gradcompat.startup.lazy_dataclasses import dataclass, field


@dataclass(slots=True)
class ProjectEdits:
    """What the plans of a run change in the files of the project, and what has to be done by hand.

    Attributes:
        files: by path; a file that several plans change holds the changes of all.
        done: what the edits do, each a sentence.
        by_hand: what no editor does, each a sentence.
        notes: what is worth knowing.
        commands: the tools' commands for lockfiles.
        targets: the folders that were named; a file below one may not lead out of it.
    """

    files: dict[Path, FileEdit] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    commands: dict[tuple[tuple[str, ...], Path], LockCommand] = field(default_factory=dict)
    targets: tuple[Path, ...] = ()

    def edit(self, path: Path, shown: str, change: Callable[[str], str]) -> None:
        """Change a file on top of what other plans have changed in it."""
        known = self.files.get(path)
        root = self.root_of(path)
        if leads_outside(path, root):
            raise EditError(OUTSIDE, path=shown, hint="name that file itself, if it shall change")
        if known is None:
            try:
                before = read_regular(path)
            except OSError as error:
                raise EditError(f"cannot be read: {error.strerror}", path=shown) from None
            self.files[path] = edited(path, shown, before, change, root)
        else:
            later = edited(path, shown, known.after, change)
            self.files[path] = FileEdit(path=path, shown=shown, before=known.before, after=later.after, root=root)

    @property
    def changed(self) -> list[FileEdit]:
        """The files that become others."""
        return [edit for edit in self.files.values() if edit.before != edit.after]

    def root_of(self, path: Path) -> Path:
        """The folder that was named, if the file is below one; else its own."""
        for folder in self.targets:
            if path.is_relative_to(folder) and ".." not in path.relative_to(folder).parts:
                return folder
        return path.parent


def project_edits(done: Sequence[PlanningResult], catalogue: Catalogue, targets: Sequence[str]) -> ProjectEdits:
    """Everything that the plans of a run change; nothing is written.

    Raises:
        EditError: if a file cannot be read, or is not what its editor takes.
    """
    writing = ProjectEdits(targets=tuple(path for path in map(Path, targets) if os.path.isdir(path)))
    for work in done:
        if work.planned.plan is not None:
            _collect(work, work.planned.plan, writing, catalogue)
    return writing


def _collect(work: PlanningResult, plan: Plan, writing: ProjectEdits, catalogue: Catalogue) -> None:
    if plan.changes:
        _pins(work, plan, writing, catalogue)
    for setting in plan.settings:
        _setting(setting, work, writing)
    writing.by_hand += [f"in your code: {code_change.text}" for code_change in plan.code]
    writing.notes += [f"{work.planned.source}: {sentence}" for sentence in plan.verified.unverified]
    writing.notes += [f"{work.planned.source}: {sentence}" for sentence in plan.verified.notes]


def _pins(work: PlanningResult, plan: Plan, writing: ProjectEdits, catalogue: Catalogue) -> None:
    """Move the pins in the files that ask, and find the command for the lockfile."""
    left = {change.package: change_text(change) for change in plan.changes}
    refused: dict[str, list[str]] = {}
    pins = [_pin(change, catalogue, hashed=_hashed(work)) for change in plan.changes]
    for file in work.project.files:
        if file.path.suffix not in (".toml", ".txt", ".in", ".yml", ".yaml"):
            continue
        kind = _kind_of(file)
        outcome: list[str] = []

        def change(text: str, kind: str = kind, file: File = file, outcome: list[str] = outcome) -> str:
            result = edit_text(kind, file.path, file.shown, text, pins)
            outcome.extend(result.settled)
            for package, reason in result.not_edited:
                if reason != NOT_NAMED:
                    refused.setdefault(package, []).append(f"{file.shown} {reason}")
            writing.notes += [f"{file.shown}: {note}" for note in result.notes]
            return result.text

        try:
            writing.edit(file.path, file.shown, change)
        except EditError as error:
            if error.message != OUTSIDE:
                raise
            writing.by_hand.append(f"{error} ({error.hint})")
            continue
        for package in outcome:
            if package in left:
                writing.done.append(f"{file.shown}: {left.pop(package)}")
    if work.environment is None:
        return
    path = work.source.path if isinstance(work.source, File) else None
    kind = work.environment.kind
    locking = (
        lock_command(kind, path, work.environment.source, pins, text=head_of(path, kind))
        if path is not None and work.project.lockfile
        else None
    )
    if locking is not None and locking.suspect:
        writing.by_hand.append(f"{locking.left}: `{shlex.join(locking.arguments)}`")
    elif locking is not None:
        writing.commands[locking.arguments, locking.where] = locking
        said = caveat(kind)
        writing.notes += [said] if said is not None else []
        # What the project does not ask for in words, the lockfile alone holds.
        left = {package: text for package, text in left.items() if package in refused}
    if left and path is None:
        wanted = " ".join(f"{change.package}=={change.version_to}" for change in plan.changes)
        writing.by_hand.append(f"in {work.planned.source}: pip install {wanted}")
    else:
        nobody = ["no file that can be edited asks for it"]
        writing.by_hand += [f"{text}: {'; '.join(refused.get(package, nobody))}" for package, text in left.items()]


def _kind_of(file: File) -> str:
    try:
        return read(read_document(file.path, file.shown)).kind
    except SourceError as error:
        raise EditError(error.message, path=error.path, hint=error.hint) from None


def _hashed(work: PlanningResult) -> bool:
    """Does the file pin with hashes, so that a moved pin needs the new ones?"""
    if work.environment is None or work.environment.kind != "requirements" or not isinstance(work.source, File):
        return False
    try:
        return b"--hash=" in read_regular(work.source.path)
    except OSError:
        return False


def _pin(change: Change, catalogue: Catalogue, *, hashed: bool) -> PinEdit:
    return PinEdit(
        package=change.package,
        version_from=change.version_from,
        version_to=change.version_to,
        kind=change.kind,
        direct=change.direct,
        hashes=hashes_of(catalogue, change.package, change.version_to) if hashed else (),
    )


def _setting(change: SettingChange, work: PlanningResult, writing: ProjectEdits) -> None:
    """Change the one place where a setting stands."""
    stated = _stated(change, work)
    if change.location is None or stated is None:
        writing.by_hand.append(f"{setting_text(change)}: it is not set in exactly one place that can be edited")
        return
    path, shown = Path(change.location.path), change.location.path
    edit = SettingEdit(
        key=change.key, old=stated.value, new=change.value, location=stated.location, spelling=stated.spelling
    )
    before = writing.files.get(path)
    try:
        writing.edit(path, shown, lambda text: setting_editor.edit(text, shown, [edit]))
        _check(writing.files[path], change)
    except EditError as error:
        # What other changes have made of this file stays.
        if before is None:
            writing.files.pop(path, None)
        else:
            writing.files[path] = before
        writing.by_hand.append(f"{setting_text(change)}: {error}" + (f" ({error.hint})" if error.hint else ""))
        return
    writing.done.append(f"{shown}: {setting_text(change)}")


def _stated(change: SettingChange, work: PlanningResult) -> Setting | None:
    runs = work.found.runs.values() if work.found is not None else ()
    for run in runs:
        for setting in run.settings:
            if setting.key == change.key and setting.location == change.location:
                return setting
    return None


def _check(edit: FileEdit, change: SettingChange) -> None:
    """Scan the new text: it has to say what it should."""
    try:
        context = scan(Document(edit.shown, decode(edit.after, edit.shown)))
    except SourceError as error:
        raise EditError(f"could not be read after the change ({error.message})", path=edit.shown) from None
    if not any(setting.key == change.key and setting.value == change.value for setting in context.settings):
        raise EditError("does not say so after the change", path=edit.shown)

"""Every entry of the tables of formats and scanners is whole; a failure says what was forgotten, and of which."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

from gradcompat.dependency_formats import BY_KIND, FORMATS, Format, Group, by_name, is_resolved_by_lock
from gradcompat.edit.lock_commands import command
from gradcompat.edit.pins import PinEdit
from gradcompat.edit.registry import edit_text
from gradcompat.errors import SourceError
from gradcompat.formats.document import Document, decode
from gradcompat.scanners.any_config import scan
from gradcompat.scanners.registry import SCANNERS, Scanner
from gradcompat.sources.recognise import recognise
from tests.conftest import ROOT
from tests.test_fuzz import seeds
from website import formats as made

PACKAGE = ROOT / "gradcompat"
every = pytest.mark.parametrize("entry", FORMATS, ids=lambda entry: entry.kind)
# Modules of `sources` that other readers use, and what reads an installed environment; none of them reads a format.
HELPERS = {
    *("__init__", "build_contexts", "conda_prefix", "conda_spec", "constraints", "declared", "describe_interpreter"),
    *(
        "distributions",
        "folder",
        "installed",
        "interpreter",
        "joint_ranges",
        "lock_entries",
        "ngc_images",
        "pip_command",
        "prose_versions",
        "typed_versions",
    ),
    *("poetry_constraint", "poetry_tables", "purl", "any_format", "recognise", "requirement", "requirement_grammar"),
    *("requires_dist", "setup_files", "setup_tables"),
    *("torch_index", "uv_choices", "uv_edges", "uv_tables", "workspace"),
}


def test_no_kind_stands_twice() -> None:
    assert len(BY_KIND) == len(FORMATS)


def test_every_reader_and_editor_has_an_entry() -> None:
    readers = {path.stem for path in (PACKAGE / "sources").glob("*.py")}
    assert readers - HELPERS == {entry.reader for entry in FORMATS}, "a module of sources/ is in no entry of FORMATS"


@every
def test_an_entry_is_whole(entry: Format) -> None:
    forgotten = [
        *(["sources/ has no module of its reader"] if find_spec(f"gradcompat.sources.{entry.reader}") is None else []),
        *(["its group is no row of docs/formats.md"] if entry.group not in get_args(Group) else []),
        *(["nothing tells it"] if not entry.names and not entry.signatures and entry.line is None else []),
        *(["a folder is searched for lower-case names"] if any(name != name.lower() for name in entry.names) else []),
        *(["no file under tests/fixtures is read as it"] if not seeds(entry.kind) else []),
    ]
    if entry.lock:
        asks = bool(entry.requested_in) != bool(entry.unread_request)
        forgotten += [
            *([] if asks else ["a lockfile says either in which files beside it is asked, or which file is not read"]),
            *([] if entry.relock is not None or entry.header else ["a lockfile says how its tool moves packages"]),
            *(["only its tool writes a lockfile: it has no editor, and nobody owns it"] if _edited(entry) else []),
        ]
    else:
        only = [entry.requested_in, entry.unread_request, entry.relock]
        forgotten += ["what it says of lockfiles counts for nothing without `lock`"] if any(only) else []
    assert forgotten == [], f"{entry.kind} in gradcompat/dependency_formats.py: {'; '.join(forgotten)}"


def _edited(entry: Format) -> bool:
    return entry.own or entry.editor is not None or bool(entry.resolved)


@every
def test_its_reader_reads_what_its_content_tells(entry: Format) -> None:
    assert callable(import_module(f"gradcompat.sources.{entry.reader}").read)
    if entry.editor is not None:
        assert callable(import_module(f"gradcompat.edit.{entry.editor}").edit)
    for name in entry.requested_in:
        asking = by_name(name)
        assert asking is not None, f"{entry.kind}: `{name}` beside it has no reader"
        assert is_resolved_by_lock(asking, name), f"{entry.kind}: `{name}` beside it is not resolved by it"
    texts = [seed.decode("utf-8") for seed in seeds(entry.kind) if b"\0" not in seed]
    told = [text for text in texts if recognise(text) == entry.kind]
    assert told, f"{entry.kind}: its signatures tell none of its fixtures by the content alone"


@every
def test_its_names_are_its_own(entry: Format) -> None:
    for pattern in entry.names:
        assert by_name(pattern.replace("*", "")) is entry, f"{entry.kind}: `{pattern}` is first of another format"


@pytest.mark.parametrize(
    ("name", "is_list"),
    [("pip_list.txt", True), ("pip-list", True), ("pip_list_gpu.sh", False), ("my_pip_list.py", False)],
)
def test_a_script_is_no_list_by_its_name(name: str, is_list: bool) -> None:
    assert (by_name(name) is BY_KIND["pip-list"]) is is_list


@every
def test_the_command_of_a_lock_tool(entry: Format, tmp_path: Path) -> None:
    if entry.relock is None:
        return
    pin = PinEdit(package="torch", version_from="2.4.1", version_to="2.6.0", kind="upgrade")
    words = command(entry.kind, tmp_path / "a.lock", [pin])
    assert words is not None
    assert words[0] == entry.relock.words[0]
    assert words[-1] == ("torch==2.6.0" if entry.relock.exact else "torch")
    # Whoever leaves the version to the tool, or the command to the user, says so.
    assert entry.relock.exact or entry.relock.caveat, f"{entry.kind}: its tool chooses the version: say so in `caveat`"


def test_the_manager_of_a_pyproject_is_the_tool_of_the_lockfile_beside_it(tmp_path: Path) -> None:
    pin = PinEdit(package="tokenizers", version_from="0.20.0", version_to="0.21.0", kind="upgrade", direct=False)
    text = "[project]\ndependencies = []\n"
    reasons = {}
    for entry in FORMATS:
        if "pyproject.toml" in entry.requested_in and entry.relock is not None:
            folder = tmp_path / entry.kind
            folder.mkdir()
            (folder / entry.kind).write_bytes(b"")
            result = edit_text("pyproject.toml", folder / "pyproject.toml", "p", text, [pin])
            reasons[entry.kind] = result.settled or result.not_edited[0].reason
    assert len(set(reasons.values())) == len(reasons), "gradcompat/edit/pyproject.py does not know a manager"


@pytest.mark.parametrize("path", ["docs/formats.md", "docs/reports.md", ".pre-commit-hooks.yaml"])
def test_what_is_made_of_the_tables_is_current(path: str) -> None:
    assert (ROOT / path).read_text("utf-8") == made.files()[path], f"`{made.COMMAND}` writes it anew"


def test_the_page_has_every_kind() -> None:
    kinds = [known.kind for known in (*FORMATS, *SCANNERS)]
    assert [kind for kind in kinds if f"`{kind}`" not in made.table()] == []


@cache
def scanned() -> frozenset[str]:
    """The kinds of the fixtures, judged by scanning them."""
    kinds = set()
    for path in (ROOT / "tests/fixtures").rglob("*"):
        if path.is_file() and path.stat().st_size < 200_000:
            with suppress(SourceError):
                kinds.add(scan(Document(path.name, decode(path.read_bytes(), path.name), path)).kind)
    return frozenset(kinds)


@pytest.mark.parametrize("scanner", SCANNERS, ids=lambda scanner: scanner.kind)
def test_a_scanner_is_whole(scanner: Scanner) -> None:
    module = find_spec(f"gradcompat.scanners.{scanner.module}")
    forgotten = [
        *(["scanners/ has no such module"] if module is None else []),
        *(["fewer words than it needs"] if len(scanner.marks) < scanner.least else []),
        *(["a folder is searched for lower-case names"] if any(name != name.lower() for name in scanner.names) else []),
        *(["no file under tests/fixtures is scanned as it"] if scanner.kind not in scanned() else []),
    ]
    assert forgotten == [], f"{scanner.kind} in gradcompat/scanners/registry.py: {'; '.join(forgotten)}"


def test_what_an_incomplete_entry_forgot_is_said() -> None:
    incomplete = Format(kind="never.lock", group="Lockfiles", reader="never_lock", names=("*Never.lock",), lock=True)
    with pytest.raises(AssertionError) as error:
        test_an_entry_is_whole(incomplete)
    for sentence in (
        "never.lock in gradcompat/dependency_formats.py",
        "sources/ has no module of its reader",
        "lower-case names",
        "no file under tests/fixtures is read as it",
        "in which files beside it is asked",
        "how its tool moves packages",
    ):
        assert sentence in str(error.value)

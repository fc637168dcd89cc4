"""What a revision of a git repository holds, read with git's plumbing.

Nothing of the repository is changed and nothing of it is run: no hook, filter, text conversion, file system monitor,
pager or external diff, and no transport. https://git-scm.com/docs/git#_environment_variables
"""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from gradcompat.errors import UsageError
from gradcompat.processes.executables import find_program

_SAFE = (
    *("--no-pager", "--no-optional-locks", "--literal-pathspecs"),
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.quotePath=false"),
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # A partial clone would fetch what it lacks: with no protocol allowed it says that it cannot.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
}
_DROPPED = ("GIT_TRACE", "GIT_EXTERNAL_DIFF", "GIT_PAGER")
# A hook of git says with these which repository it runs in; a submodule is another one.
_OUTER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
_TYPES = {"100644": "file", "100755": "file", "120000": "link", "160000": "module"}
_DEEP = "with actions/checkout that is `fetch-depth: 0`; elsewhere `git fetch --unshallow`"

# The largest repositories of training code have some ten thousand, Linux has ninety.
MOST_FILES = 100_000
_CHUNK = 1024 * 1024

Type = Literal["file", "link", "module"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a revision's tree: its path from the top, what it is, and the id of its content."""

    path: str
    type: Type
    id: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit to compare with.

    Attributes:
        id: its full id.
        shown: how a message calls it: ``main (1a2b3c4d5e6f)``.
    """

    id: str
    shown: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a work tree; ``top`` is the folder of that. A submodule is ``inner``."""

    top: Path
    inner: bool = False

    @classmethod
    def around(cls, folder: Path) -> Repository:
        """The repository that a folder lies in.

        Raises:
            UsageError: if there is no git, no repository, or one that git does not trust.
        """
        done = cls(folder)._git("rev-parse", "--show-toplevel")
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace")
            if "dubious ownership" in said:
                hint = "if you trust it: `git config --global --add safe.directory` with the folder of the repository"
                raise UsageError("git does not read this repository, because another user owns it", hint=hint)
            if "work tree" in said:
                raise UsageError(
                    "`--diff` needs the files of a revision and those that are here: this is not a work tree"
                )
            if "not a git repository" in said:
                raise UsageError("`--diff` compares with a revision, and this folder is in no git repository")
            raise UsageError(f"git cannot read this repository: {_told(done)}")
        return cls(Path(os.fsdecode(done.stdout.removesuffix(b"\n"))))

    def fork_point(self, base: str) -> Commit:
        """The commit where what is here parted from ``base``: their merge base, as in ``git diff BASE...``.

        Raises:
            UsageError: if there is no such revision, or nothing in common with it.
        """
        wanted = self.commit(base).id
        head = self._commit("HEAD")
        if head is None:
            raise UsageError("this repository has no commit yet, so nothing can be compared")
        done = self._git("merge-base", wanted, head)
        if done.returncode:
            hint = f"this clone is shallow: fetch the whole history ({_DEEP})" if self._shallow() else None
            raise UsageError(f"`{base}` has no commit in common with what is checked out here", hint=hint)
        found = done.stdout.decode("ascii").strip()
        return _shown(base, found)

    def commit(self, revision: str) -> Commit:
        """The commit of a revision.

        Raises:
            UsageError: if there is no such revision.
        """
        found = self._commit(revision)
        if found is None:
            lacking = f"this clone is shallow, and may lack it: fetch the whole history ({_DEEP})"
            named = "name a branch, a tag or a commit; `git branch --all` lists the branches"
            raise UsageError(f"git knows no revision `{revision}` here", hint=lacking if self._shallow() else named)
        return _shown(revision, found)

    def _commit(self, revision: str) -> str | None:
        # What begins with a dash would be an option.
        if not revision or revision.startswith("-") or not revision.isprintable():
            return None
        try:
            done = self._git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        except (UnicodeError, ValueError):
            return None
        return None if done.returncode else done.stdout.decode("ascii").strip()

    def _shallow(self) -> bool:
        return self._git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"

    def entries(self, commit: str) -> list[Entry]:
        """All files, links and submodules of a commit.

        Raises:
            UsageError: if git cannot list them, or they are too many.
        """
        entries = []
        for line in self._listed(commit):
            about, _, path = line.partition(b"\t")
            mode, _, rest = about.decode("ascii").partition(" ")
            if (kind := _TYPES.get(mode)) is not None:
                entries.append(Entry(os.fsdecode(path), kind, rest.rpartition(" ")[2]))  # type: ignore[arg-type]  # of the table
        return entries

    def _listed(self, commit: str) -> Iterator[bytes]:
        """The lines of a tree. A few objects can stand for any number of files, so that they are counted on the way."""
        with (
            tempfile.TemporaryFile() as told,
            subprocess.Popen(  # noqa: S603  # as below
                self._command("ls-tree", "-r", "-z", "--full-tree", commit),
                stdout=subprocess.PIPE,
                stderr=told,
                env=self._environment(),
            ) as process,
        ):
            count, begun = 0, b""
            try:
                while process.stdout is not None and (chunk := process.stdout.read(_CHUNK)):
                    *whole, begun = (begun + chunk).split(b"\0")
                    count += len(whole)
                    if count > MOST_FILES or len(begun) > _CHUNK:
                        raise UsageError(
                            f"`{commit[:12]}` has more than {MOST_FILES:,} files, too many to compare with",
                            hint="check it without `--diff`, or write a baseline",
                        )
                    yield from whole
            except BaseException:
                process.kill()
                raise
            if process.wait():
                told.seek(0)
                lines = told.read().decode("utf-8", "replace").strip().splitlines()
                said = (lines[-1].removeprefix("fatal: ") if lines else "it gives no reason").rstrip(".")
                raise UsageError(f"git cannot list the files of `{commit[:12]}`: {said}")

    def renames(self, commit: str) -> dict[str, str]:
        """Old path → new path of every file that was moved since, in commits or in the index.

        Files that are only moved in the work tree are not seen: git would have to run their filters to compare them.
        """
        options = ("--cached", "--find-renames", "--diff-filter=R", "--name-status", "-z", "--ignore-submodules=all")
        done = self._git("diff-index", *options, "--no-ext-diff", "--no-textconv", commit)
        if done.returncode:
            raise UsageError(f"git cannot compare with `{commit[:12]}`: {_told(done)}")
        fields = [os.fsdecode(field) for field in done.stdout.split(b"\0")[:-1]]
        return dict(zip(fields[1::3], fields[2::3], strict=True))

    def sizes(self, ids: Sequence[str]) -> dict[str, int]:
        """Id → bytes of each content that is here.

        Raises:
            UsageError: as :meth:`contents`.
        """
        done = self._git(
            "cat-file", "--batch-check", stdin="".join(f"{identifier}\n" for identifier in ids).encode("ascii")
        )
        if done.returncode:
            raise _partial(_told(done))
        fields = (line.split() for line in done.stdout.decode("ascii").splitlines())
        return {about[0]: int(about[2]) for about in fields if len(about) == 3 and about[1] == "blob"}

    def contents(self, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Each content with its id.

        Raises:
            UsageError: if one is not here, as in a partial clone.
        """
        with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as told:
            asked.write("".join(f"{identifier}\n" for identifier in ids).encode("ascii"))
            asked.seek(0)
            with subprocess.Popen(  # noqa: S603  # as above
                self._command("cat-file", "--batch"),
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=told,
                env=self._environment(),
            ) as process:
                for one in ids:
                    yield one, _content(process.stdout or io.BytesIO(), one)

    def _git(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = self._command(*arguments)
        return subprocess.run(  # noqa: S603  # a list, no shell; git as it is on the PATH
            command, input=stdin, capture_output=True, env=self._environment(), check=False
        )

    def _command(self, *arguments: str) -> list[str]:
        git = find_program("git")
        if git is None:
            raise UsageError("`--diff` needs git, which is not on the PATH")
        return [git, *_SAFE, "-C", str(self.top), *arguments]

    def _environment(self) -> dict[str, str]:
        dropped = (*_DROPPED, *_OUTER) if self.inner else _DROPPED
        return {**{key: value for key, value in os.environ.items() if not key.startswith(dropped)}, **_ENVIRONMENT}


def _shown(revision: str, commit: str) -> Commit:
    return Commit(commit, commit[:12] if commit.startswith(revision) else f"{revision} ({commit[:12]})")


def _content(stream: IO[bytes], identifier: str) -> bytes:
    about = stream.readline().split()
    if len(about) != 3:
        raise _partial(f"`{identifier[:12]}` is missing")
    size = int(about[2])
    data = stream.read(size + 1)  # and the line end that git adds
    if len(data) != size + 1:
        raise _partial(f"`{identifier[:12]}` cannot be read")
    return data[:size]


def _partial(reason: str) -> UsageError:
    hint = "a partial clone lacks them: clone without `--filter`, or fetch the revision whole"
    return UsageError(f"git does not have the files of the revision here: {reason}", hint=hint)


def _told(done: subprocess.CompletedProcess[bytes]) -> str:
    """What git says, in one line."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return (lines[-1].removeprefix("fatal: ") if lines else "it gives no reason").rstrip(".")

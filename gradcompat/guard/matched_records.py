"""The records that apply to this process: gradcompat itself matches them, in a process of its own.

The training process pays for one start and gets no import of ours. Facts travel as options of ``gradcompat check``, so
what the guard says of records is what the command would say of the same environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from typing import Any

Fact = bool | int | float | str
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONGEST_ANSWER = 30.0  # seconds
_ERROR = "error: "  # how what went wrong begins; below it stands what to do
# Starts the command with the package of this process, whatever the other interpreter has installed.
_START = """\
import importlib.util, os, sys
package = sys.argv.pop(1)
spec = importlib.util.spec_from_file_location("gradcompat", os.path.join(package, "__init__.py"))
sys.modules["gradcompat"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["gradcompat"])
from gradcompat.cli.main import main
main()
"""


@dataclass(frozen=True)
class Record:
    """A record that applies.

    Attributes:
        id: of the record.
        summary: its symptom in one sentence.
        categories: in the words of the record.
        level: ``error``, ``warning`` or ``note``.
    """

    id: str
    summary: str
    categories: tuple[str, ...]
    level: str


class RecordMatching:
    """``gradcompat check`` of this process, which runs beside the training until its answer is needed."""

    def __init__(self, facts: Mapping[str, Fact], python: str = "") -> None:
        """Start it.

        Args:
            facts: settings by their keys.
            python: an interpreter with gradcompat's dependencies; empty for this one.
        """
        self._facts = dict(facts)
        self._python = python or sys.executable
        self.packages = installed()
        self._process = self._start(["check", "-", "--format", "json", "--fail-on", "never"])
        self._records: tuple[Record, ...] | None = None
        self.total = 0
        self.problem = "" if self._process is not None else "no interpreter can be started"

    def records(self) -> tuple[Record, ...]:
        """The records that apply; waits for the answer. None where there is no answer, and :attr:`problem` says why."""
        if self._records is None:
            answer = self._answer(self._process)
            self.total = int((answer or {}).get("knowledge", {}).get("records", 0))
            self._records = tuple(
                Record(
                    id=str(one["id"]),
                    summary=str(one["summary"]),
                    categories=tuple(one.get("categories", ())),
                    level=str(one.get("level", "")),
                )
                for one in (answer or {}).get("findings", ())
                if one.get("status") == "affected"
            )
        return self._records

    def change(self, ids: Sequence[str]) -> str:
        """What ``gradcompat plan`` changes in this environment for some records, in one line; empty if nothing."""
        wanted = [part for one in ids for part in ("--only", one)]
        arguments = ["plan", "-", "--offline", "--format", "json", "--fail-on", "note", *wanted]
        answer = self._answer(self._start(arguments)) or {}
        moves = [
            f"{one['kind']} {one['package']} {one['version_from']} to {one['version_to']}"
            for one in answer.get("changes", ())
            if one.get("package")
        ]
        settings = [f"set {one['key']} to {one['value']}" for one in answer.get("settings", ())]
        code = [str(one["text"]) for one in answer.get("code", ())]
        return "; ".join([*moves, *settings, *code])

    def close(self) -> None:
        """End it, whether it has answered or not."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _start(self, arguments: Sequence[str]) -> subprocess.Popen[str] | None:
        settings = [
            part for key, value in sorted(self._facts.items()) for part in ("--set", f"{key}={_written(value)}")
        ]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "GRADCOMPAT_"))}
        try:
            process = subprocess.Popen(  # noqa: S603  # this interpreter, or the one of `gradcompat run`
                [self._python, "-I", "-c", _START, _PACKAGE, *arguments, *settings],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=_PACKAGE,  # options of a project's own file do not count
                env=environment,
                text=True,
                encoding="utf-8",
            )
            if process.stdin is not None:
                process.stdin.write(_listed(self.packages))
                process.stdin.close()
                process.stdin = None
        except OSError as error:
            self.problem = error.strerror or "no interpreter can be started"
            return None
        return process

    def _answer(self, process: subprocess.Popen[str] | None) -> dict[str, Any] | None:
        if process is None:
            return None
        try:
            printed, said = process.communicate(timeout=LONGEST_ANSWER)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.problem = f"gradcompat has not answered within {LONGEST_ANSWER:.0f} s"
            return None
        try:
            answer: dict[str, Any] = json.loads(printed)
        except ValueError:
            lines = said.strip().splitlines() or [f"status {process.returncode}"]
            self.problem = next((one for one in lines if one.startswith(_ERROR)), lines[-1]).removeprefix(_ERROR)[:200]
            return None
        return answer


def installed() -> dict[str, str]:
    """Name → version of the distributions that this process imports from; of two of one name the first counts."""
    found: dict[str, str] = {}
    for distribution in distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(name, distribution.version)
    return found


def _listed(packages: Mapping[str, str]) -> str:
    """What ``pip list`` prints of them."""
    rows = "\n".join(f"{name} {version}" for name, version in packages.items())
    return f"Package Version\n------- -------\n{rows}\n"


def _written(value: Fact) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

"""Checks the repository of a job. A pull request answers for what it brings; code scanning gets everything.

So there are two checks where there is a base: one of all that is there, for SARIF, and one with ``--diff``, which makes
the annotations, the summary, the comment and the exit status. The step itself ends well, so that reports are uploaded
after findings, too; the last step of the action ends with the status.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from workflow import event, fail, is_on, lines, put, value

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_CONFIGURATION = "configuration-of-the-base"  # a remark of gradcompat
_LISTS = (("--context", "INPUT_CONTEXT"), ("--set", "INPUT_SET"))


def arguments() -> list[str]:
    """The command line that the inputs ask for, without its targets."""
    asked = [f"{option}={line}" for option, name in _LISTS for line in lines(name)]
    if level := value("INPUT_FAIL_ON"):
        asked.append(f"--fail-on={level}")
    if baseline := value("INPUT_BASELINE"):
        asked.append(f"--baseline={baseline}")
    if is_on("INPUT_STRICT"):
        asked.append("--strict")
    return [*asked, *lines("INPUT_ARGS")]


def base(into: str | None) -> str | None:
    """The revision to compare with; None if everything counts.

    Args:
        into: what the change is to be merged into; None if it is no such change.
    """
    asked = value("INPUT_DIFF") or "auto"
    return into if asked == "auto" else None if asked == "none" else asked


def merged_into() -> str | None:
    """The commit that a pull request or a merge group is to be merged into; None for any other event.

    Of a pull request, the runner has checked out the merge with its base, whose first parent is that base as it was at
    that moment; the base in the event may be older.
    """
    about = event()
    group, request = about.get("merge_group"), about.get("pull_request")
    if isinstance(group, dict):
        return deepened(_commit(group.get("base_sha")))
    if not isinstance(request, dict):
        return None
    parents = re.findall(r"^parent ([0-9a-f]+)$", git("cat-file", "-p", "HEAD").partition("\n\n")[0], re.MULTILINE)
    merged = len(parents) == 2 and value("GITHUB_REF").startswith("refs/pull/")
    return deepened(parents[0] if merged else _commit(request.get("base", {}).get("sha")))


def deepened(commit: str) -> str:
    """The commit; where this clone is too shallow to know what parted from it, the parents of HEAD are fetched.

    If that does not help, `--diff` says what is missing.
    """
    shallow = git("rev-parse", "--is-shallow-repository").strip() == "true"
    if shallow and not git("merge-base", commit, "HEAD"):
        git("fetch", "--quiet", "--no-tags", "--depth=2", "origin", git("rev-parse", "HEAD").strip())
    return commit


def git(*command: str) -> str:
    """What git prints; nothing where it fails."""
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    return subprocess.run(["git", *command], capture_output=True, env=env, check=False).stdout.decode(
        "utf-8", "replace"
    )


def _commit(text: Any) -> str:
    if not isinstance(text, str) or _COMMIT.fullmatch(text) is None:
        fail("the event names no commit to compare with; write `diff: none`, or a revision")
    return str(text)


def check(folder: Path, name: str, *more: str, printed: bool) -> tuple[int, dict[str, Any]]:
    """Run gradcompat; its exit status, and its report, which is empty where there is none."""
    report = folder / f"{name}.json"
    outputs = [f"--output=json={report}", *(["--output=github=-"] if printed else [])]
    command = [os.environ["PROGRAM"], "check", *arguments(), *outputs, *more, "--", *(lines("INPUT_TARGETS") or ["."])]
    cache = {"GRADCOMPAT_CACHE": str(Path(os.environ["CACHE"], "gradcompat"))} if value("CACHE") else {}
    out = None if printed else subprocess.DEVNULL
    status = subprocess.run(command, stdout=out, env={**os.environ, **cache}, check=False).returncode
    if not report.exists():
        return (status if status == 2 else 70), {}
    return status, json.loads(report.read_text("utf-8"))


def found(report: dict[str, Any]) -> int:
    """How many defects there are that nothing waives; what only may apply is none."""
    return sum(
        one["status"] == "affected" and not one["informational"] and not one["suppressed"]
        for one in report.get("findings", ())
    )


def main() -> None:
    """Check, and say what came out."""
    folder = Path(tempfile.mkdtemp(prefix="gradcompat-reports-", dir=os.environ["RUNNER_TEMP"]))
    sarif, markdown = folder / "gradcompat.sarif", folder / "gradcompat.md"
    into = merged_into()
    against = base(into)
    told = f"--output=markdown={markdown}"
    # A pull request is judged by the options of its base: its own take effect when somebody has merged them.
    options = [f"--config-from={into}"] if into is not None else []
    # Code scanning opens alerts for results that are suppressed, too: https://github.com/github/codeql-action/issues/1230
    everything = (f"--output=sarif={sarif}", "--hide-suppressed")
    sys.stdout.flush()
    if against is None:
        status, report = check(folder, "gradcompat", *options, *everything, told, printed=True)
    else:
        status, report = check(folder, "everything", *options, *everything, printed=False)
        if report:
            status, report = check(folder, "gradcompat", *options, told, f"--diff={against}", printed=True)
    put(
        {
            "exit-status": str(status),
            "findings": str(found(report)) if report else "",
            "sarif": str(sarif) if sarif.exists() else "",
            "report": str(markdown) if report else "",
            "json": str(folder / "gradcompat.json") if report else "",
            "base": against or "",
            "configuration": " ".join(
                f"{one['path']}: {one['text']}" for one in report.get("remarks", ()) if one["kind"] == _CONFIGURATION
            ),
        }
    )


if __name__ == "__main__":
    main()

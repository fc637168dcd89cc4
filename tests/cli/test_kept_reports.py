"""Reports that are kept: one is printed again only while everything that it hangs on is as it was."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.cli import kept_reports
from gradcompat.cli.plain import run_plainly
from gradcompat.errors import GradcompatError
from gradcompat.files import kept_entries, observations
from gradcompat.sources.workspace import _projects
from tests.conftest import ROOT
from tests.examples import examples
from tests.program import surroundings

pytestmark = [
    pytest.mark.e2e,  # a process that has read nothing before is what is observed
    pytest.mark.skipif(sys.platform == "win32", reason="nothing is kept there"),
]

# As the console script, but that a file may be as young as it is: a test does not wait. The last line on standard error
# says whether the check was run.
PROGRAM = """\
import sys, time
{before}
from gradcompat.files import observations
observations._SETTLED = {settled}
from gradcompat.cli.main import main
sys.argv[0] = "gradcompat"
try:
    main(keep=True)
except SystemExit as ended:
    sys.stdout.flush()
    print("run" if "gradcompat.pipeline" in sys.modules else "kept", file=sys.stderr)
    raise
"""

LOCK = """\
version = 1
requires-python = ">=3.10"

[[package]]
name = "torch"
version = "2.5.1"
source = { registry = "https://index.example/simple" }

[[package]]
name = "transformers"
version = "4.50.0"
source = { registry = "https://index.example/simple" }
"""
CONFIG = "per_device_train_batch_size: 2\ngradient_accumulation_steps: 8\nlearning_rate: 1.0e-5\noutput_dir: out\n"
WAIVED = """\
[[waivers]]
id = "GC-0062"
reason = "no such GPU here"
until = 2030-01-02
"""


@dataclass(frozen=True)
class Checked:
    """How a check ended, what it printed, and whether it was run."""

    status: int
    out: str
    err: str
    run: bool


@dataclass
class Project:
    """A folder with a cache beside it."""

    folder: Path
    cache: Path

    def check(
        self, *words: str, before: str = "", settled: int = 0, stdin: str = "", env: dict[str, str] | None = None
    ) -> Checked:
        """Check in a process that may keep the report."""
        done = subprocess.run(
            [sys.executable, "-I", "-c", PROGRAM.format(before=before, settled=settled), "check", *words],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=surroundings({"GRADCOMPAT_CACHE": str(self.cache), "HOME": str(self.folder.parent), **(env or {})}),
            timeout=60,
            check=False,
        )
        *err, how = done.stderr.splitlines()
        assert how in ("run", "kept"), done.stderr
        return Checked(done.returncode, done.stdout, "\n".join(err), how == "run")

    def write(self, name: str, text: str) -> Path:
        """Write one of its files."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project", tmp_path / "cache")
    made.write("uv.lock", LOCK)
    made.write("train.yaml", CONFIG)
    return made


def kept_twice(project: Project, *words: str, **ways: str) -> Checked:
    """The report of a check that was run and then kept."""
    first = project.check(*words, **ways)  # type: ignore[arg-type]
    again = project.check(*words, **ways)  # type: ignore[arg-type]
    assert (first.run, again.run) == (True, False)
    assert (again.status, again.out, again.err) == (first.status, first.out, first.err)
    return first


@pytest.mark.parametrize(
    "words", [("uv.lock",), (".",), (".", "--format", "json"), ("uv.lock", "--context", "train.yaml", "--all")]
)
def test_the_same_is_printed_again(project: Project, words: Sequence[str]) -> None:
    assert "torch" in kept_twice(project, *words).out


def test_of_a_finding_and_of_a_gap(project: Project) -> None:
    assert kept_twice(project, "uv.lock", "--strict").status == 1
    project.write("requirements.txt", "-r nothing.txt\ntorch==2.5.1\n")
    assert kept_twice(project, "requirements.txt").status == 3


def rewritten(path: Path, old: str, new: str) -> None:
    """Other content of the same size, with the times of the one before."""
    text = path.read_text("utf-8")
    assert len(old) == len(new)
    assert old in text
    status = path.stat()
    path.write_text(text.replace(old, new), "utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def linked(project: Project) -> None:
    """A link to its config outside."""
    (project.folder / "train.yaml").rename(project.folder.parent / "train.yaml")
    (project.folder / "train.yaml").symlink_to("../train.yaml")


CHANGES: dict[str, Callable[[Project], object]] = {
    "the lockfile, with its size and its times": lambda one: rewritten(one.folder / "uv.lock", "4.50.0", "4.49.0"),
    "the config, with its size and its times": lambda one: rewritten(one.folder / "train.yaml", "steps: 8", "steps: 1"),
    "a config beside": lambda one: one.write("other.yaml", CONFIG),
    "a lockfile below": lambda one: one.write("service/uv.lock", LOCK),
    "a folder below": lambda one: (one.folder / "empty").mkdir(),
    "a file that is gone": lambda one: (one.folder / "train.yaml").unlink(),
    "a link in place of a file": linked,
    "options of the project": lambda one: one.write("gradcompat.toml", 'fail-on = "note"\n'),
    "options in a pyproject.toml": lambda one: one.write("pyproject.toml", "[tool.gradcompat]\nstrict = true\n"),
    "options above": lambda one: (one.folder.parent / "gradcompat.toml").write_text("strict = true\n", "utf-8"),
    "a checkout": lambda one: (one.folder / ".git").mkdir(),
    "rights": lambda one: (one.folder / "train.yaml").chmod(0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_has_changed_on_the_disk_is_read(project: Project, change: Callable[[Project], object]) -> None:
    kept_twice(project, ".")
    change(project)
    now = project.check(".")
    assert now.run
    anew = project.check(".", "--no-cache")
    assert (now.status, now.out, now.err) == (anew.status, anew.out, anew.err)


@pytest.mark.parametrize(
    "env",
    [
        {"COLUMNS": "60"},
        {"GITHUB_ACTIONS": "true"},
        {"LANG": "de_DE.UTF-8"},
        {"VIRTUAL_ENV": "/nowhere"},
    ],
    ids=str,
)
def test_another_variable(project: Project, env: dict[str, str]) -> None:
    kept_twice(project, "uv.lock")
    assert project.check("uv.lock", env=env).run


def test_other_words_and_another_folder(project: Project) -> None:
    kept_twice(project, "uv.lock")
    assert project.check("./uv.lock").run
    assert project.check("uv.lock", "--all").run
    (project.folder / "below").mkdir()
    assert Project(project.folder / "below", project.cache).check("../uv.lock").run


def on(year: int, day: int) -> str:
    """What makes it that day of January."""
    now = f"time.struct_time(({year}, 1, {day}, 12, 0, 0, 0, {day}, 0))"
    of_date = (
        f"import datetime\nclass date(datetime.date):\n    today = classmethod(lambda cls: cls({year}, 1, {day}))\n"
    )
    return f"time.localtime = lambda *_: {now}\n{of_date}datetime.date = date"


def test_a_waiver_that_expires_tomorrow(project: Project) -> None:
    project.write("gradcompat.toml", WAIVED)
    today = kept_twice(project, "uv.lock", before=on(2030, 2))
    assert "expired" not in today.out + today.err
    tomorrow = project.check("uv.lock", before=on(2030, 3))
    assert tomorrow.run
    assert "expired" in tomorrow.out + tomorrow.err


def test_a_day_that_ends_meanwhile_is_not_kept(project: Project) -> None:
    midnight = "days = [1, 2]\ntime.localtime = lambda *_: time.struct_time((2030, 1, 1, 0, 0, 0, 0, days.pop(0), 0))"
    assert project.check("uv.lock", before=midnight).run
    assert not (project.cache / "reports-1").exists()


def installed_copy(project: Project, folder: Path) -> str:
    """The package in another place, and what imports it from there."""
    packages = folder / "site-packages"
    packages.mkdir(parents=True)
    subprocess.run(["cp", "-r", str(ROOT / "gradcompat"), str(packages)], check=True)
    return f"sys.path.insert(0, {str(packages)!r})"


def test_other_code_records_and_distributions(project: Project, tmp_path: Path) -> None:
    before = installed_copy(project, tmp_path / "installed")
    packages = tmp_path / "installed" / "site-packages"
    kept_twice(project, "uv.lock", before=before)
    module = packages / "gradcompat" / "sources" / "uv_lock.py"
    module.write_text(module.read_text("utf-8") + "\n# another version\n", "utf-8")
    assert project.check("uv.lock", before=before).run
    compiled = packages / "gradcompat" / "knowledge" / "compiled.json"
    compiled.write_text(compiled.read_text("utf-8") + "\n", "utf-8")
    assert project.check("uv.lock", before=before).run
    kept_twice_again = project.check("uv.lock", before=before)
    assert not kept_twice_again.run
    (packages / "records_of_ours-1.0.dist-info").mkdir()
    assert project.check("uv.lock", before=before).run
    (packages / "records_of_ours-1.0.dist-info" / "entry_points.txt").write_text("[gradcompat.knowledge]\n", "utf-8")
    assert project.check("uv.lock", before=before).run


@pytest.mark.parametrize(
    ("words", "ways"),
    [
        (("-",), {"stdin": "torch==2.5.1\n"}),
        (("/dev/stdin",), {"stdin": "torch==2.5.1\n"}),
        (("uv.lock", "--no-cache"), {}),
        (("uv.lock", "--output", "json=report.json"), {}),
        (("uv.lock", "--format", "openvex"), {}),
        (("uv.lock", "--python", sys.executable), {}),
        (("nothing.lock",), {}),
        (("uv.lock", "--format", "github"), {"env": {"GITHUB_STEP_SUMMARY": "summary.md"}}),
        (("uv.lock",), {"settled": 10**15}),  # it was just written
        (("uv.lock", "--set", "no.such=1"), {}),
        (("uv.lock", "--help"), {}),
    ],
    ids=str,
)
def test_what_is_not_kept(project: Project, words: Sequence[str], ways: dict[str, Any]) -> None:
    project.check(*words, **ways)
    assert not (project.cache / "reports-1").exists()


def test_the_flag_and_the_setting_print_nothing_that_was_kept(project: Project) -> None:
    kept_twice(project, "uv.lock")
    assert project.check("uv.lock", "--no-cache").run
    project.write("gradcompat.toml", "cache = false\n")
    for _ in range(2):
        assert project.check("uv.lock").run


def test_the_program_itself_keeps_and_prints(tmp_path: Path) -> None:
    """What is checked, and the code, have to be older than two seconds."""
    lock = ROOT / "examples" / "llava-finetune" / "uv.lock"
    program = [sys.executable, "-m", "gradcompat", "check", str(lock), "--format", "json"]
    env = surroundings({"GRADCOMPAT_CACHE": str(tmp_path)})
    first = subprocess.run(program, capture_output=True, cwd=tmp_path, env=env, timeout=60, check=False)
    (entry,) = (tmp_path / "reports-1").iterdir()
    body = entry.read_bytes().partition(b"\n")[2].replace(b'"findings"', b'"f1ndings"')
    entry.write_bytes(kept_entries.digest(body).encode() + b"\n" + body)
    again = subprocess.run(program, capture_output=True, cwd=tmp_path, env=env, timeout=60, check=False)
    assert again.stdout == first.stdout.replace(b'"findings"', b'"f1ndings"') != first.stdout
    assert (again.returncode, again.stderr) == (first.returncode, first.stderr)


def entry_of(project: Project) -> Path:
    (entry,) = (project.cache / "reports-1").iterdir()
    return entry


def test_a_damaged_entry_is_none(project: Project) -> None:
    first = kept_twice(project, "uv.lock")
    entry = entry_of(project)
    whole = entry.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40], whole.replace(b"torch", b"tarch"), whole + b"."):
        entry.write_bytes(damaged)
        again = project.check("uv.lock")
        assert (again.run, again.out) == (True, first.out)
        assert entry.read_bytes() == whole
    body = whole.partition(b"\n")[2]
    for wrong in (b"", b"\0" * 9, body.replace(b"\0", b"", 1), body + b"\0", body.partition(b"\0")[0] + b"\0x\0y"):
        entry.write_bytes(kept_entries.digest(wrong).encode() + b"\n" + wrong)
        assert project.check("uv.lock").run


def test_what_is_kept_is_for_its_user_alone(project: Project) -> None:
    project.check("uv.lock")
    entry = entry_of(project)
    assert (entry.stat().st_mode & 0o777, entry.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_many_at_once_print_their_own(project: Project) -> None:
    """Several processes that write into one folder, some of them into one place."""
    places = "from gradcompat.files import kept_entries\nkept_entries.PLACES = 1"
    expected = {name: project.check("uv.lock", "--format", name, "--no-cache").out for name in ("text", "json")}
    with ThreadPoolExecutor(4) as pool:
        names = ["text", "json"] * 6
        found = pool.map(lambda name: project.check("uv.lock", "--format", name, before=places).out, names)
        assert list(found) == [expected[name] for name in names]


files = st.sampled_from(
    [
        "uv.lock",
        "train.yaml",
        "other.yaml",
        "requirements.txt",
        "gradcompat.toml",
        "service/uv.lock",
        "run.sh",
        "train.py",
    ]
)
contents = st.sampled_from(
    [
        LOCK,
        LOCK.replace("4.50.0", "4.49.0"),
        LOCK.replace("2.5.1", "2.6.0"),
        CONFIG,
        CONFIG.replace("8", "1"),
        "torch==2.5.1\ntransformers==4.49.0\n",
        "torch==2.5.1\ntransformers==4.48.0\n",
        "strict = true\n",
        'fail-on = "note"\n',
        "python train.py --gradient_accumulation_steps 8\n",
        "from transformers import Trainer\nTrainer(model=None).train()\n",
        "",
    ]
)
edits = st.tuples(files, contents | st.none())


def in_this_process(project: Project, *words: str) -> tuple[bool, object, str, str]:
    """Check in this process, whose caches know no file that is edited: whether it was run, and what came of it."""
    _projects.cache_clear()
    out, err = io.StringIO(), io.StringIO()
    ran = False

    def run() -> object:
        nonlocal ran
        ran = True
        try:
            return run_plainly(["check", *words])
        except GradcompatError as error:
            return str(error)

    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.MonkeyPatch.context() as changed,
    ):
        changed.chdir(project.folder)
        changed.setenv("GRADCOMPAT_CACHE", str(project.cache))
        changed.setattr(observations, "_SETTLED", 0)
        # Other tests have imported these, and modules by the thousand, all of which a kept report names.
        changed.setattr(kept_reports, "OF_THE_MOMENT", frozenset())
        changed.setattr(kept_entries, "LARGEST_ENTRY", 16 * kept_entries.LARGEST_ENTRY)
        status = kept_reports.run_kept(["check", *words], run)
    return ran, status, out.getvalue(), err.getvalue()


def test_after_any_edits_the_report_is_that_of_a_check_without_the_cache(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    kept = 0

    @given(st.lists(edits | st.none(), min_size=1, max_size=8), st.sampled_from([".", "uv.lock", "requirements.txt"]))
    @settings(max_examples=examples(40))
    def edit(several: Sequence[tuple[str, str | None] | None], target: str) -> None:
        nonlocal kept
        folder = tmp_path_factory.mktemp("edited")
        project = Project(folder / "project", folder / "cache")
        project.write("uv.lock", LOCK)
        for one in several:
            if one is not None:
                name, text = one
                (project.folder / name).unlink(missing_ok=True)
                if text is not None:
                    project.write(name, text)
            for _ in range(2):
                ran, *said = in_this_process(project, target)
                kept += not ran
                assert [True, *said] == list(in_this_process(project, target, "--no-cache"))

    edit()
    assert kept > 0

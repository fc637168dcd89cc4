"""The runner against an interpreter whose torch crashes, hangs, chatters, eats memory and leaves children."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gradcompat.errors import ProbeUnavailable
from gradcompat.model.probe import Measurement, ProbeSpec
from gradcompat.probes.runner import Interpreter, Job, run

FIXTURES = Path(__file__).parents[1] / "fixtures" / "probes"
FAKE = FIXTURES / "fake"
ECHO = str(FIXTURES / "echo.py")

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="the fakes need signals")]


def interpreter(**changed: object) -> Interpreter:
    return Interpreter(path=Path(sys.executable), layers=(FAKE,), **changed)  # type: ignore[arg-type]


def job(mode: str = "", seconds: float = 60.0, **parameters: object) -> Job:
    return Job(
        spec=ProbeSpec(name="echo", parameters=parameters),  # type: ignore[arg-type]
        recipe=ECHO,
        environment={"GRADCOMPAT_FAKE": mode},
        seconds=seconds,
    )


def one(wanted: Job, where: Interpreter | None = None) -> Measurement:
    (measurement,) = run([wanted], where or interpreter())
    return measurement


def test_values_come_back_as_they_were_measured() -> None:
    measurement = one(job(number=1.5, word="a", truth=True))
    assert measurement.state == "measured"
    assert measurement.values == {"number": 1.5, "word": "a", "truth": True, "seed": 0, "nan": "nan", "inf": "-inf"}
    assert measurement.packages["torch"] == "0.0.1+fake"
    assert measurement.python == ".".join(map(str, sys.version_info[:3]))
    assert measurement.output == ""


def test_noise_is_no_result_and_no_obstacle() -> None:
    assert one(job("chatter", number=1)).values["number"] == 1


def test_a_crash_is_an_outcome() -> None:
    measurement = one(job("segfault"))
    assert (measurement.state, measurement.reason) == ("crashed", "the process was killed by SIGSEGV")


def test_a_process_that_ends_says_what_it_printed_last() -> None:
    measurement = one(job("exit"))
    expected = "the process ended with status 127: libtorch: symbol lookup error"
    assert (measurement.state, measurement.reason) == ("crashed", expected)
    assert "symbol lookup" in measurement.output


def test_a_hang_ends_when_its_time_is_over() -> None:
    measurement = one(job("hang", seconds=0.5))
    assert (measurement.state, measurement.reason) == ("hung", "did not end within 0.5 s")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="memory is read from /proc")
def test_too_much_memory_ends_it() -> None:
    measurement = one(job("memory"), interpreter(memory=300))
    assert (measurement.state, measurement.reason) == ("memory", "took more than 300 MiB")


def test_a_recipe_that_raises_fails_alone() -> None:
    first, second, third = run([job(number=1), job(fail="no such thing"), job(number=3)], interpreter())
    assert (first.values["number"], third.values["number"]) == (1, 3)
    assert (second.state, second.reason) == ("failed", "ValueError: no such thing")
    assert "echo.py" in second.output


def test_a_recipe_that_cannot_run_here_is_skipped() -> None:
    measurement = one(job(skip="there is no GPU"))
    assert (measurement.state, measurement.reason) == ("skipped", "there is no GPU")


def test_a_missing_package_is_skipped() -> None:
    measurement = one(job(module="no_such_package"))
    assert (measurement.state, measurement.reason) == (
        "skipped",
        "there is no module `no_such_package`",
    )


def test_what_kills_a_shared_process_is_found_and_the_rest_is_run() -> None:
    seen: list[Measurement] = []
    measurements = run([job(number=1), job(kill="SIGABRT"), job(number=3)], interpreter(), seen.append)
    assert [one.state for one in measurements] == ["measured", "crashed", "measured"]
    assert measurements[1].reason == "the process was killed by SIGABRT"
    assert sorted(map(id, seen)) == sorted(map(id, measurements))  # each is told once


def test_jobs_with_other_variables_do_not_share_a_process() -> None:
    first, second = run([job("segfault"), job(number=2)], interpreter())
    assert (first.state, second.values["number"]) == ("crashed", 2)


def test_children_do_not_outlive_the_run(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    assert one(job("child", pid_file=str(marker))).state == "measured"
    if Path("/proc").exists():
        own = marker.read_text()
        left = [entry for entry in os.listdir("/proc") if entry.isdigit() and _group(entry) == own]
        assert left == []


def _group(process: str) -> str:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[2]


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one(job("segfault"))
    assert list(tmp_path.iterdir()) == []


def test_our_own_variables_do_not_reach_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("HF_TOKEN", "secret")
    values = one(job(variables="HF_TOKEN,HF_HUB_OFFLINE,PYTHONHASHSEED")).values
    assert values["variables"] == "None,1,0"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/no/such/python", "`/no/such/python`: cannot be started: No such file or directory"),
        (str(FAKE), f"`{FAKE}`: cannot be started: Permission denied"),
    ],
)
def test_what_is_no_interpreter_is_said(path: str, message: str) -> None:
    with pytest.raises(ProbeUnavailable) as caught:
        run([job()], Interpreter(path=Path(path)))
    assert str(caught.value) == message


def test_a_program_that_is_no_python_is_said() -> None:
    with pytest.raises(ProbeUnavailable) as caught:
        run([job()], Interpreter(path=Path("/bin/false")))
    assert caught.value.message == "ended before anything was measured (the process ended with status 1)"

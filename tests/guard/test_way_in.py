"""How a process comes to be guarded, and what a run without torch notices of it: nothing."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from gradcompat.guard.import_hooks import AfterImport
from gradcompat.guard.launch import SITE, environment
from gradcompat.guard.lightning_callback import LightningGuard
from gradcompat.guard.options import Options, from_environment
from gradcompat.guard.trainer_callback import GuardCallback
from tests.conftest import ROOT, Run

TRAIN = "import os, sys; print(os.environ['GRADCOMPAT_GUARD'], sys.argv[1:])"


def python(code: str, folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A guarded interpreter; where torch is not installed, one that never trains."""
    options = Options(report=str(folder / "report.json"), python=sys.executable)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**environment(options, os.environ), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.e2e
def test_a_process_that_does_not_train_notices_nothing(tmp_path: Path) -> None:
    done = python("import json, sys; print('torch' in sys.modules, json.dumps(1))", tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("False 1\n", "", 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.e2e
def test_the_guard_brings_no_dependency_of_gradcompat(tmp_path: Path) -> None:
    """The package may lie in another environment: what is installed beside it must not come along."""
    code = "import sys; print(sorted({'typer', 'pydantic', 'packaging', 'yaml', 'httpx'} & set(sys.modules)))"
    assert python(code, tmp_path).stdout == "[]\n"
    code = "import sys; print([one for one in sys.path if 'sitecustomize' in one])"
    assert python(code, tmp_path).stdout == "[]\n"


@pytest.mark.e2e
def test_a_sitecustomize_of_the_user_still_runs(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("print('mine')\n", "utf-8")
    path = os.pathsep.join((SITE, str(tmp_path / "own")))
    code = "import sitecustomize; print(sitecustomize.__file__.endswith('own/sitecustomize.py'))"
    done = python(code, tmp_path, PYTHONPATH=path)
    assert (done.stdout, done.stderr) == ("mine\nTrue\n", "")


@pytest.mark.e2e
def test_without_the_variable_the_folder_does_nothing(tmp_path: Path) -> None:
    done = python("import sys; print('gradcompat' in sys.modules)", tmp_path, GRADCOMPAT_GUARD="0")
    assert done.stdout == "False\n"


@pytest.mark.e2e
def test_an_option_that_makes_no_sense_is_told_and_the_program_runs(tmp_path: Path) -> None:
    done = python("print(1)", tmp_path, GRADCOMPAT_GUARD_STEPS="many")
    assert done.stdout == "1\n"
    assert done.stderr == (
        "gradcompat guard: GRADCOMPAT_GUARD_STEPS is 'many', and has to be a number of steps; nothing is guarded\n"
    )


@pytest.mark.e2e
def test_guarding_starts_no_interpreter_noticeably_later(tmp_path: Path) -> None:
    """No module of the standard library that is slow to import, and none of ours that a program pays for."""
    code = "import sys; print(sorted({'importlib.metadata', 'subprocess', 'email'} & set(sys.modules)))"
    assert python(code, tmp_path).stdout == "[]\n"


def test_an_action_runs_once_after_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_framework.py").write_text("VALUE = 1\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[int] = []
    finder = AfterImport({"some_framework": lambda module: seen.append(module.VALUE)})
    finder.install()
    try:
        assert seen == []
        module = importlib.import_module("some_framework")
        assert seen == [1]
        importlib.reload(module)
        assert seen == [1]
    finally:
        sys.meta_path.remove(finder)
        sys.modules.pop("some_framework", None)


def test_an_action_survives_who_only_asks_whether_a_module_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """transformers, datasets and peft ask for the spec of torch long before they import it."""
    (tmp_path / "asked_framework").mkdir()
    (tmp_path / "asked_framework" / "__init__.py").write_text("", "utf-8")
    (tmp_path / "asked_framework" / "trainer.py").write_text("VALUE = 2\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[str] = []
    names = ("asked_framework", "asked_framework.trainer")
    finder = AfterImport({name: lambda module: seen.append(module.__name__) for name in names})
    finder.install()
    try:
        for _ in range(2):
            assert importlib.util.find_spec("asked_framework") is not None
        assert importlib.util.find_spec("asked_framework.trainer") is not None
        assert seen == ["asked_framework"]  # asking for a module imports its parents
        assert importlib.import_module("asked_framework.trainer").VALUE == 2
        assert seen == ["asked_framework", "asked_framework.trainer"]
    finally:
        sys.meta_path.remove(finder)
        for name in names:
            sys.modules.pop(name, None)


def test_a_module_that_is_absent_stays_absent() -> None:
    finder = AfterImport({"no_such_framework": lambda module: None})
    finder.install()
    try:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("no_such_framework")
    finally:
        sys.meta_path.remove(finder)


def test_a_module_that_is_loaded_is_acted_on_at_once() -> None:
    seen: list[str] = []
    finder = AfterImport({"json": lambda module: seen.append(module.__name__)})
    finder.install()
    sys.meta_path.remove(finder)
    assert seen == ["json"]


def test_options_of_the_environment() -> None:
    assert from_environment({}) == Options()
    values = {"GRADCOMPAT_GUARD_STEPS": "5", "GRADCOMPAT_GUARD_ON_DEFECT": "warn", "GRADCOMPAT_GUARD_REPORT": ""}
    assert from_environment(values) == Options(steps=5, on_defect="warn", report="")
    also = Options(also=("later-losses",))
    assert from_environment({"GRADCOMPAT_GUARD_ALSO": " later-losses,"}) == also
    assert from_environment(environment(also, {})).also == also.also
    for wrong in (
        {"GRADCOMPAT_GUARD_STEPS": "0"},
        {"GRADCOMPAT_GUARD_ON_DEFECT": "explode"},
        {"GRADCOMPAT_GUARD_ALSO": "everything"},
    ):
        with pytest.raises(ValueError, match="has to be"):
            from_environment(wrong)


def test_the_path_of_the_user_is_kept() -> None:
    assert environment(Options(), {"PYTHONPATH": "mine"})["PYTHONPATH"] == os.pathsep.join((SITE, "mine"))
    assert environment(Options(), {})["PYTHONPATH"] == SITE


@pytest.mark.e2e
def test_run_passes_on_what_the_command_returns(run_process: Run) -> None:
    outcome = run_process("run", "--", sys.executable, "-c", "import sys; sys.exit(7)")
    assert outcome.status == 7
    assert outcome.err == "note: the guard has seen no optimizer step: nothing was verified\n"


@pytest.mark.e2e
def test_run_hands_arguments_over_as_they_are(run_process: Run) -> None:
    outcome = run_process("run", "--on-defect", "warn", "--", sys.executable, "-c", TRAIN, "--steps", "3", "--", "a b")
    assert (outcome.status, outcome.out) == (0, "1 ['--steps', '3', '--', 'a b']\n")


@pytest.mark.e2e
def test_run_says_86_for_a_launcher_that_has_another_status(run_process: Run, tmp_path: Path) -> None:
    """torchrun ends with 1 whatever its workers ended with; the report knows."""
    code = "import json, os, sys; json.dump({'stopped': True}, open(os.environ['GRADCOMPAT_GUARD_REPORT'], 'w'))"
    outcome = run_process("run", "--", sys.executable, "-c", f"{code}; sys.exit(1)")
    assert (outcome.status, outcome.err) == (86, "")
    assert json.loads((tmp_path / "gradcompat-guard.json").read_text("utf-8")) == {"stopped": True}
    # A report that lies there from an earlier run says nothing of this one.
    outcome = run_process("run", "--", sys.executable, "-c", "import sys; sys.exit(1)")
    assert outcome.status == 1


@pytest.mark.e2e
def test_run_tells_of_a_signal_as_a_shell_does(run_process: Run) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run_process("run", "--", sys.executable, "-c", code).status == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no command is given"),
        (("--steps", "3", "--"), "no command is given"),
        (("--", "no-such-program"), "`no-such-program` cannot be started: No such file or directory"),
        (("--on-defect", "explode", "--", "true"), "`--on-defect explode` is not known"),
        (("--also", "everything", "--", "true"), "`--also everything` is not known"),
    ],
)
def test_run_refuses_what_makes_no_sense(run: Run, arguments: tuple[str, ...], said: str) -> None:
    outcome = run("run", *arguments)
    assert outcome.status == 2
    assert outcome.err.startswith(f"error: {said}\n")


def test_run_without_a_command_shows_how_it_is_written(run: Run) -> None:
    assert "`gradcompat run -- python train.py`" in run("run").err


def test_the_guard_imports_no_framework() -> None:
    """What it needs of torch is taken from `sys.modules`."""
    words = ("import torch", "import transformers", "import lightning", "import accelerate", "import numpy")
    for path in (ROOT / "gradcompat" / "guard").rglob("*.py"):
        text = path.read_text("utf-8")
        assert [word for word in words if word in text] == [], path
    assert importlib.util.find_spec("gradcompat.guard") is not None


@pytest.mark.e2e
def test_the_folder_for_a_launcher_that_cannot_be_changed() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gradcompat.guard"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == f"{SITE}\n"


@pytest.mark.parametrize("name", ["Guard", "GuardCallback", "GuardStop", "LightningGuard", "Finding"])
def test_names_of_the_package(name: str) -> None:
    assert getattr(importlib.import_module("gradcompat.guard"), name).__name__ == name


@pytest.mark.parametrize("callback", [GuardCallback, LightningGuard])
def test_callbacks_take_the_options_of_the_guard(callback: type) -> None:
    assert callback(steps=5, on_defect="warn").options == Options(steps=5, on_defect="warn")
    with pytest.raises(ValueError, match="on_defect is 'explode'"):
        callback(on_defect="explode")
    with pytest.raises(TypeError, match="stepz"):
        callback(stepz=5)


def test_a_name_that_the_package_has_not() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = importlib.import_module("gradcompat.guard").Nothing


class BasePlugin:
    """As in ``axolotl/integrations/base.py`` of axolotl 0.19.0: every hook is there, and does nothing."""

    def __init__(self) -> None:
        self.made = True

    def register(self, cfg: dict[str, object]) -> None:
        """Registers the plug-in."""

    def get_input_args(self) -> str | None:
        """The schema of its own settings."""

    def add_callbacks_pre_trainer(self, cfg: object, model: object) -> list[object]:
        return []

    def add_callbacks_post_trainer(self, cfg: object, trainer: object) -> list[object]:
        return []


def load_plugin(plugin_name: str) -> BasePlugin:
    """As axolotl 0.19.0 makes an instance of a line of its YAML, ``module_name.class_name``."""
    module_name, class_name = plugin_name.rsplit(".", 1)
    plugin_class = getattr(importlib.import_module(module_name), class_name)
    plugin: BasePlugin = plugin_class()
    return plugin


def test_the_plug_in_of_axolotl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against its interface alone, not axolotl itself; the hooks that the guard does not need are inherited."""
    base = ModuleType("axolotl.integrations.base")
    base.BasePlugin = BasePlugin  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "axolotl.integrations.base", base)
    monkeypatch.setenv("GRADCOMPAT_GUARD_STEPS", "3")
    plugin = load_plugin("gradcompat.guard.axolotl_plugin.GuardPlugin")
    assert isinstance(plugin, BasePlugin)
    assert plugin.made
    plugin.register({"plugins": []})
    assert plugin.get_input_args() is None
    (callback,) = plugin.add_callbacks_pre_trainer(None, None)
    assert isinstance(callback, GuardCallback)
    assert callback.options.steps == 3
    assert plugin.add_callbacks_post_trainer(None, None) == []


SWIFT = """
from swift.callbacks import callbacks_map
from gradcompat.guard import GuardCallback

callbacks_map["gradcompat"] = lambda args, trainer: GuardCallback(trainer=trainer)
"""


def test_the_external_plug_in_of_ms_swift(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trainer makes a callback as ``callbacks_map[name](args, trainer)``."""
    made: dict[str, Callable[[object, object], GuardCallback]] = {}
    for name in ("swift", "swift.callbacks"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules["swift.callbacks"], "callbacks_map", made, raising=False)
    exec(compile(SWIFT, "guard.py", "exec"), {})  # noqa: S102  # our own
    assert isinstance(made["gradcompat"](object(), object()), GuardCallback)


class Callback:
    """As Lightning has it."""


def test_a_callback_belongs_to_the_framework_that_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not isinstance(LightningGuard(), Callback)
    module = ModuleType("pytorch_lightning.callbacks.callback")
    module.Callback = Callback  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    guard = LightningGuard(steps=3)
    assert isinstance(guard, Callback)
    # A strategy that spawns processes sends it there.
    again = pickle.loads(pickle.dumps(guard))  # noqa: S301  # our own
    assert isinstance(again, LightningGuard)
    assert again.options == guard.options

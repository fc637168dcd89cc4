"""Programs that do not train as most do, or not at all: what they print, return and raise is their own."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

from gradcompat.guard.launch import SITE
from tests.conftest import Run
from tests.guard.test_training import train
from tests.probes.really import NEEDS_TORCH

WITHOUT_TORCH = """
import sys
try:
    import torch
except ModuleNotFoundError as error:
    print(error)
print(sys.argv[1:], sorted(one for one in sys.modules if one.startswith("torch")))
"""
CRASH = "import torch\n"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with the standard library alone."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    (found,) = [one for name in ("bin/python", "Scripts/python.exe") if (one := folder / name).exists()]
    return str(found)


@pytest.mark.e2e
class TestWithoutTorch:
    def test_a_program_runs_and_nothing_is_called_verified(self, run_process: Run, tmp_path: Path, bare: str) -> None:
        (tmp_path / "train.py").write_text(WITHOUT_TORCH + "sys.exit(5)", "utf-8")
        outcome = run_process("run", "--", bare, "train.py", "--epochs", "3")
        assert outcome.status == 5
        assert outcome.out == "No module named 'torch'\n['--epochs', '3'] []\n"
        assert outcome.err == "note: the guard has seen no optimizer step: nothing was verified\n"
        assert not (tmp_path / "gradcompat-guard.json").exists()

    @pytest.mark.parametrize("guarded", ["0", "1"])
    def test_a_process_that_is_guarded_by_its_environment(self, tmp_path: Path, bare: str, guarded: str) -> None:
        done = _alone(bare, tmp_path, WITHOUT_TORCH, GRADCOMPAT_GUARD=guarded)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "No module named 'torch'\n[] []\n"

    def test_an_import_that_fails_has_the_traceback_that_it_has_without_the_guard(
        self, tmp_path: Path, bare: str
    ) -> None:
        """A torch whose libraries are missing fails in the middle of its import, which the guard waits for."""
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch" / "__init__.py").write_text("raise OSError('libcudart.so.12')\n", "utf-8")
        guarded, alone = (_alone(bare, tmp_path, CRASH, GRADCOMPAT_GUARD=one) for one in ("1", "0"))
        assert guarded.returncode == alone.returncode == 1
        assert guarded.stderr == alone.stderr
        assert alone.stderr.count("  File ") == 2

    def test_the_frames_of_the_guard_are_there_for_who_asks(self, tmp_path: Path, bare: str) -> None:
        (tmp_path / "torch.py").write_text("raise OSError('libcudart.so.12')\n", "utf-8")
        done = _alone(bare, tmp_path, CRASH, GRADCOMPAT_GUARD="1", GRADCOMPAT_TRACEBACK="1")
        assert "import_hooks.py" in done.stderr


def _alone(python: str, folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(script, "utf-8")
    return subprocess.run(
        [python, "train.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SITE, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


CRASHES = """
import sys
import torch
from torch.nn import functional as F

torch.manual_seed(0)
model = torch.nn.Linear(8, 3)
optimizer = torch.optim.AdamW(model.parameters())
where = sys.argv[1]


def closure():
    raise ZeroDivisionError("mine")


def chained():
    try:
        F.cross_entropy(model(torch.ones(4, 8)), torch.full((4,), 7))
    except IndexError as error:
        raise ValueError("mine") from error


def body():
    if where == "loss":
        F.cross_entropy(model(torch.ones(4, 8)), torch.full((4,), 7))
    if where == "attention":
        F.scaled_dot_product_attention(torch.ones(2, 3, 4), torch.ones(2, 3, 5), torch.ones(2, 3, 5))
    if where == "backward":
        loss = F.cross_entropy(model(torch.ones(4, 8)), torch.ones(4, dtype=torch.long))
        loss.backward()
        loss.backward()
    if where == "closure":
        optimizer.step(closure)
    if where == "chained":
        chained()


if where != "all":
    body()
import traceback
for where in ("loss", "attention", "backward", "closure", "chained"):
    try:
        if sys.argv[2] == "guarded":
            from gradcompat.guard import Guard
            with Guard(model, report=""):
                body()
        else:
            body()
    except Exception as error:
        for one in (error, error.__cause__ or error):
            print(*(frame.name for frame in traceback.extract_tb(one.__traceback__)))
"""


class TestThatTrain:
    pytestmark = NEEDS_TORCH

    @pytest.mark.parametrize("where", ["loss", "closure", "chained"])
    def test_an_error_below_a_function_that_is_wrapped_has_its_own_traceback(self, tmp_path: Path, where: str) -> None:
        guarded, alone = (train(CRASHES, tmp_path, "train.py", where, guarded=one) for one in (True, False))
        assert guarded.status == alone.status == 1
        assert guarded.err == alone.err
        assert "Traceback" in alone.err

    def test_errors_that_leave_a_guard_are_caught_with_their_own_tracebacks(self, tmp_path: Path) -> None:
        guarded = train(CRASHES, tmp_path, "train.py", "all", "guarded")
        alone = train(CRASHES, tmp_path, "train.py", "all", "plain", guarded=False)
        assert guarded.out == alone.out
        assert alone.out.count("<module> body") == 9
        assert "chained cross_entropy" in alone.out

    @pytest.mark.parametrize(("what", "told"), [("right", []), ("lost", [("accumulated gradient", "error")])])
    def test_two_models_and_two_optimizers(self, tmp_path: Path, what: str, told: list[tuple[str, str]]) -> None:
        guarded = train(ADVERSARIAL, tmp_path, "train.py", what)
        assert (guarded.status, guarded.told) == (86 if told else 0, told), guarded.err
        assert guarded.err.count("looks at the first") == 1
        if not told:
            assert guarded.out == train(ADVERSARIAL, tmp_path, "train.py", what, guarded=False).out
            assert guarded.report is not None
            assert {"accumulated gradient", "finite loss", "movement"} <= set(guarded.report["verified"])

    @pytest.mark.parametrize(("what", "told"), [("right", []), ("nan", [("finite loss", "error")])])
    def test_an_optimizer_that_calls_backward_itself(
        self, tmp_path: Path, what: str, told: list[tuple[str, str]]
    ) -> None:
        guarded = train(LBFGS, tmp_path, "train.py", what)
        assert (guarded.status, guarded.told) == (86 if told else 0, told), guarded.err
        if not told:
            assert guarded.out == train(LBFGS, tmp_path, "train.py", what, guarded=False).out
            assert guarded.report is not None
            assert guarded.report["steps"] == 2

    def test_processes_that_the_program_forks_and_spawns_train_as_they_would(self, tmp_path: Path) -> None:
        """What is forked has copies of all wrappers; what is spawned begins as the program did."""
        guarded, alone = (train(PROCESSES, tmp_path, guarded=one) for one in (True, False))
        assert (guarded.status, guarded.told) == (0, []), guarded.err
        assert guarded.out == alone.out
        assert guarded.out.count("0x") == 3


ADVERSARIAL = """
import sys
import torch
from torch.nn import functional as F

torch.manual_seed(0)
generator, critic = torch.nn.Linear(4, 8), torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 1))
ours = torch.optim.Adam(generator.parameters(), lr=0.01)
theirs = torch.optim.Adam(critic.parameters(), lr=0.01)
for _ in range(5):
    theirs.zero_grad()
    real, fake = critic(torch.randn(8, 8)), critic(generator(torch.randn(8, 4)).detach())
    F.binary_cross_entropy_with_logits(real, torch.ones_like(real)).backward()
    if sys.argv[1] == "lost":
        theirs.zero_grad()
    F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake)).backward()
    theirs.step()
    ours.zero_grad()
    fooled = critic(generator(torch.randn(8, 4)))
    F.binary_cross_entropy_with_logits(fooled, torch.ones_like(fooled)).backward()
    ours.step()
print(sum(one.double().sum().item() for model in (generator, critic) for one in model.parameters()).hex())
"""
LBFGS = """
import sys
import torch
from torch.nn import functional as F

torch.manual_seed(0)
model = torch.nn.Linear(8, 5)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
x, y = torch.randn(16, 8), torch.randint(0, 5, (16,))


def closure():
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y) * (float("nan") if sys.argv[1] == "nan" else 1)
    loss.backward()
    return loss


for _ in range(4):
    optimizer.step(closure)
print(sum(one.double().sum().item() for one in model.parameters()).hex())
"""
PROCESSES = """
import multiprocessing
import torch
from torch.nn import functional as F

torch.set_num_threads(1)


def train(seed):
    torch.manual_seed(seed)
    model = torch.nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        F.cross_entropy(model(torch.randn(4, 8)), torch.randint(0, 3, (4,))).backward()
        optimizer.step()
        optimizer.zero_grad()
    print(model.weight.double().sum().item().hex(), flush=True)


if __name__ == "__main__":
    for kind in ("fork", "spawn"):
        one = multiprocessing.get_context(kind).Process(target=train, args=(1,))
        one.start()
        one.join()
        assert one.exitcode == 0
    train(0)
"""

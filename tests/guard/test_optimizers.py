"""What optimizers and schedulers keep from step to step, in loops that really train."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.test_training import loop, train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

CASTING = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=False)


def cast():
    state = optimizer.state[model[0].weight]
    state["momentum_buffer"] = state["momentum_buffer"].bfloat16()
"""
# An optimizer that keeps moments in float32 beside weights in bfloat16, as many do; torch casts them when it reads.
RESUMED = """
model = model.bfloat16()
forward = model.forward
model.forward = lambda x: forward(x.bfloat16()).float()


class Precise(torch.optim.SGD):
    def step(self, closure=None):
        for parameter in model.parameters():
            moment = self.state[parameter].setdefault("moment", torch.zeros(parameter.shape))
            moment.mul_(0.9).add_(parameter.grad.to(moment.dtype))
            parameter.data.sub_(0.01 * moment)


optimizer = Precise(model.parameters(), lr=0.01)
for parameter in model.parameters():
    optimizer.state[parameter]["moment"] = torch.zeros(parameter.shape{dtype})
optimizer.load_state_dict(optimizer.state_dict())
"""


def test_moments_that_change_their_dtype_between_steps(tmp_path: Path) -> None:
    trained = train(loop(before=CASTING, between="if step == 1 and micro == 0: cast()"), tmp_path)
    assert trained.told == [("dtype", "warning")], trained.err
    kept = train(loop(before=CASTING), tmp_path)
    assert (kept.status, kept.told) == (0, [])


@pytest.mark.parametrize(
    ("dtype", "told"), [("", [("dtype", "warning")]), (", dtype=torch.bfloat16", [])], ids=["cast", "kept"]
)
def test_moments_that_are_read_back_in_another_dtype(tmp_path: Path, dtype: str, told: list[tuple[str, str]]) -> None:
    trained = train(loop(before=RESUMED.format(dtype=dtype)), tmp_path)
    assert trained.told == told, trained.err
    assert trained.report is not None
    assert ("dtype" in trained.report["verified"]) == (not told)


SCHEDULE = "schedule = torch.optim.lr_scheduler.LinearLR({}, 1.0, 0.1, total_iters=100)"
OTHER = SCHEDULE.format("torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.01)")


@pytest.mark.parametrize(
    ("before", "between", "level"),
    [
        (SCHEDULE.format("optimizer"), "if micro == 3: schedule.step()", None),
        ("schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5)", "if micro == 3: schedule.step()", None),
        (
            "one, other = (torch.optim.lr_scheduler.ConstantLR(optimizer) for _ in range(2))\n"
            "schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [one, other], [3])",
            "if micro == 3: schedule.step()",
            None,
        ),
        ("schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5)", "pass", None),
        (
            "schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 10)",
            "schedule.step(step + micro / 4)",
            None,
        ),
        (SCHEDULE.format("optimizer"), "schedule.step()", "warning"),
        (OTHER, "if micro == 3: schedule.step()", "warning"),
        (
            SCHEDULE.format("optimizer"),
            "if micro == 3: schedule.step(); optimizer.param_groups[0]['lr'] = 0.5",
            "warning",
        ),
    ],
    ids=["linear", "steps", "one behind another", "epochs", "parts of epochs", "micro-batches", "elsewhere", "changed"],
)
def test_the_learning_rate_beside_its_schedule(tmp_path: Path, before: str, between: str, level: str | None) -> None:
    quiet = "import warnings; warnings.simplefilter('ignore')\n"
    trained = train(loop(before=quiet + before, between=between), tmp_path)
    assert trained.told == ([("learning rate", level)] if level else []), trained.err
    assert trained.report is not None
    assert ("learning rate" in trained.report["verified"]) == (level is None)

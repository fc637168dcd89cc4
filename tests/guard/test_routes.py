"""Fused losses, gradients that are spread over ranks, and engines that divide and scale by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.test_training import TORCHRUN, train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

# As in liger-kernel 0.5.4 and TRL 1.16.0: the class, its place and the arguments of its forward; the kernel is torch's.
FUSED = """
import sys, types
import torch
from torch.nn import functional as F
cross_entropy, log_softmax = torch.ops.aten.cross_entropy_loss, torch.log_softmax


class LigerFusedLinearCrossEntropyFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, _input, weight, target, bias=None, ce_weight=None, ignore_index=-100, lse_square_scale=0.0,
                label_smoothing=0.0, reduction="mean", softcap=None, return_z_loss=False):
        with torch.enable_grad():
            given = [one.detach().requires_grad_() for one in (_input, weight)]
            loss = cross_entropy(given[0] @ given[1].T, target, reduction={"mean": 1, "sum": 2}[reduction])
        ctx.save_for_backward(*torch.autograd.grad(loss, given))
        return loss.detach(), None

    @staticmethod
    def backward(ctx, arrived, _z):
        return *(arrived * one for one in ctx.saved_tensors), *[None] * 9


class ChunkedLogProbFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, bias, targets, temperature, chunk_size, softcapping=None, scale=1.0, outputs=()):
        with torch.enable_grad():
            given = [one.detach().requires_grad_() for one in (hidden, weight)]
            chosen = log_softmax(given[0] @ given[1].T, -1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        ctx.given, ctx.chosen = given, chosen
        return chosen.detach(), None

    @staticmethod
    def backward(ctx, arrived, _entropy):
        return *torch.autograd.grad(ctx.chosen, ctx.given, arrived), *[None] * 7


for place, one in (("liger_kernel.ops.fused_linear_cross_entropy", LigerFusedLinearCrossEntropyFunction),
                   ("trl.kernels.chunked_logprob", ChunkedLogProbFunction)):
    sys.modules[place] = types.ModuleType(place)
    setattr(sys.modules[place], one.__name__, one)

torch.manual_seed(0)
body, head = torch.nn.Linear(8, 16), torch.nn.Linear(16, 5, bias=False)
model = torch.nn.Sequential(body, head)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)


def loss_of(kind, x, y, labels):
    hidden, valid = body(x), y != -100
    if kind == "liger mean":
        return LigerFusedLinearCrossEntropyFunction.apply(hidden, head.weight, y)[0] / 4
    if kind == "liger sum":
        total, _ = LigerFusedLinearCrossEntropyFunction.apply(
            hidden, head.weight, y, None, None, -100, 0.0, 0.0, "sum")
        return total / labels
    chosen, _ = ChunkedLogProbFunction.apply(hidden, head.weight, None, y.clamp(min=0), 1.0, 4)
    if kind == "advantages":  # a policy's loss: no labels whose weights could add up
        return -(chosen * torch.randn(len(y))).mean() / 4
    return -(chosen * valid).sum() / labels


for step in range(10):
    batches = [(torch.randn(8, 8), torch.randint(0, 5, (8,))) for _ in range(4)]
    for micro, (_, y) in enumerate(batches):
        y[: micro if sys.argv[1] != "liger mean" else 0] = -100
    labels = sum((y != -100).sum() for _, y in batches)
    model(batches[0][0])  # the model is called, as a whole
    for x, y in batches:
        (loss_of(sys.argv[1], x, y, labels) * int(sys.argv[2])).backward()
    optimizer.step()
    optimizer.zero_grad()
print(sum(p.double().sum().item() for p in model.parameters()).hex())
"""


@pytest.mark.parametrize("kind", ["liger mean", "liger sum", "chunked"])
def test_losses_that_are_fused_with_the_last_layer(tmp_path: Path, kind: str) -> None:
    healthy = train(FUSED, tmp_path, "train.py", kind, "1")
    assert (healthy.status, healthy.told) == (0, []), healthy.err
    assert healthy.report is not None
    assert {"objective weight", "token weights"} <= set(healthy.report["verified"])
    assert healthy.out == train(FUSED, tmp_path, "train.py", kind, "1", guarded=False).out
    assert train(FUSED, tmp_path, "train.py", kind, "4").told == [("objective weight", "warning")]


LIGER = """
import sys
import torch
try:
    from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction as Fused
except ImportError:
    sys.exit("no kernel")

torch.manual_seed(0)
body, head = torch.nn.Linear(8, 16), torch.nn.Linear(16, 5, bias=False)
model = torch.nn.Sequential(body, head)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(3):
    model(torch.randn(8, 8))  # the model is called, as a whole
    for micro in range(4):
        hidden, y = body(torch.randn(8, 8)), torch.randint(0, 5, (8,))
        (Fused.apply(hidden, head.weight, y)[0] * float(sys.argv[1])).backward()
    optimizer.step()
    optimizer.zero_grad()
print(sum(p.double().sum().item() for p in model.parameters()).hex())
"""


def test_the_kernel_of_liger_in_the_interpreter_of_triton(tmp_path: Path) -> None:
    """With liger-kernel and triton in ``GRADCOMPAT_PROBE_LAYERS``; no GPU is needed."""
    plain = train(LIGER, tmp_path, "train.py", "0.25", guarded=False, TRITON_INTERPRET="1")
    if "no kernel" in plain.err:
        pytest.skip("liger-kernel and triton are not laid over the interpreter")
    healthy = train(LIGER, tmp_path, "train.py", "0.25", TRITON_INTERPRET="1")
    assert (healthy.status, healthy.told) == (0, []), healthy.err
    assert healthy.report is not None
    assert {"objective weight", "token weights"} <= set(healthy.report["verified"])
    assert healthy.out == plain.out
    assert train(LIGER, tmp_path, "train.py", "1", TRITON_INTERPRET="1").told == [("objective weight", "warning")]


def test_log_probabilities_under_advantages_are_no_objective(tmp_path: Path) -> None:
    trained = train(FUSED, tmp_path, "train.py", "advantages", "1")
    assert (trained.status, trained.told) == (0, []), trained.err
    assert "objective weight (no loss function of torch was called" in trained.err


SHARDED = """
import sys
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
from gradcompat.guard import Guard
generator = torch.Generator().manual_seed(dist.get_rank())
with Guard(model, max_grad_norm=0.05, report="report.json") as guard:
    for step in range(4):
        x, y = torch.randn(8, 8, generator=generator), torch.randint(0, 3, (8,), generator=generator)
        F.cross_entropy(model(x), y).backward()
        if sys.argv[1] == "clipped":
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        optimizer.step()
        optimizer.zero_grad()
print("trained", dist.get_rank(), flush=True)
dist.barrier()
del model, optimizer
dist.destroy_process_group()
"""


@pytest.mark.parametrize(("what", "told"), [("clipped", []), ("forgotten", [("clipping", "error")])])
def test_gradients_of_fsdp_2_are_read_over_all_ranks(tmp_path: Path, what: str, told: list[tuple[str, str]]) -> None:
    trained = train(SHARDED, tmp_path, *TORCHRUN, what)
    assert trained.told == told, trained.err
    assert trained.out.count("trained") == (0 if told else 2)
    if not told:
        assert trained.report is not None
        assert {"clipping", "missing gradient", "movement", "finite loss"} <= set(trained.report["verified"])


ENGINE = """
import sys
import torch
from torch.nn import functional as F

torch.manual_seed(0)


class DeepSpeedEngine(torch.nn.Module):  # what the guard asks of one, in fp16: with a factor in the loss
    def __init__(self):
        super().__init__()
        self.module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 3))
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=0.01)
        self.optimizer.loss_scale = 1024.0
        self.micro = 0

    def gradient_accumulation_steps(self):
        return 4

    def forward(self, x):
        return self.module(x)

    def backward(self, loss):
        (loss * 1024 / int(sys.argv[1])).backward()

    def step(self):
        self.micro += 1
        if self.micro % 4 == 0:
            for parameter in self.module.parameters():
                parameter.grad.div_(1024)
            self.optimizer.step()
            self.optimizer.zero_grad()


engine = DeepSpeedEngine()
for micro in range(16):
    engine.backward(F.cross_entropy(engine(torch.randn(8, 8)), torch.randint(0, 3, (8,))))
    engine.step()
print("trained")
"""


def test_an_engine_of_deepspeed_says_how_it_accumulates_and_scales(tmp_path: Path) -> None:
    """By its methods, in a class of its name; the real one is in the trials."""
    healthy = train(ENGINE, tmp_path, "train.py", "4")
    assert (healthy.status, healthy.told) == (0, []), healthy.err
    assert healthy.report is not None
    assert "objective weight" in healthy.report["verified"]
    assert healthy.report["settings"]["distributed.strategy"] == "deepspeed"
    # Some releases divide in hooks behind the loss: what arrives there says nothing of the update.
    undivided = train(ENGINE, tmp_path, "train.py", "1")
    assert (undivided.status, undivided.told) == (0, [])
    assert "objective weight (DeepSpeed may divide gradients behind the loss)" in undivided.err


# Gradients leave the parameters micro-batch by micro-batch, as under ZeRO, and the optimizer holds one flat partition.
PARTITIONED = """
import sys, types
import torch
from torch.nn import functional as F

torch.manual_seed(0)
utils = sys.modules["deepspeed.utils"] = types.ModuleType("deepspeed.utils")


class DeepSpeedEngine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 3))
        self.parts = {one: torch.zeros_like(one) for one in self.module.parameters()}
        self.flat = [torch.nn.Parameter(torch.cat([one.detach().reshape(-1) for one in self.parts]))]
        self.optimizer = torch.optim.SGD(self.flat, lr=0.1)
        self.micro = 0

    def gradient_accumulation_steps(self):
        return 4

    def zero_optimization_stage(self):
        return 2

    def is_gradient_accumulation_boundary(self):
        return self.micro % 4 == 3

    def forward(self, x):
        return self.module(x)

    def backward(self, loss):
        (loss / 4).backward()
        for one, part in self.parts.items():
            if sys.argv[1] == "lost":
                part.zero_()
            part.add_(one.grad)
            one.grad = None

    def step(self):
        if self.is_gradient_accumulation_boundary():
            self.flat[0].grad = torch.cat([part.reshape(-1) for part in self.parts.values()])
            torch.nn.utils.clip_grad_norm_(self.flat, 0.01)
            self.optimizer.step()
            for part in self.parts.values():
                part.zero_()
        self.micro += 1


engine = DeepSpeedEngine()
utils.safe_get_full_grad = engine.parts.get
for micro in range(16):
    engine.backward(F.cross_entropy(engine(torch.randn(8, 8)), torch.randint(0, 3, (8,))))
    engine.step()
print("trained", hasattr(DeepSpeedEngine.step, "__wrapped__"))
"""


def test_gradients_in_partitions_are_read_where_they_are_whole(tmp_path: Path) -> None:
    """By the names that DeepSpeed has; the real one is in the trials."""
    healthy = train(PARTITIONED, tmp_path, "train.py", "kept")
    assert (healthy.status, healthy.told, healthy.out) == (0, [], "trained False\n"), healthy.err
    assert healthy.report is not None
    assert "accumulated gradient" in healthy.report["verified"]
    assert healthy.report["settings"]["deepspeed.zero_stage"] == 2
    assert "missing gradient" in {one["what"] for one in healthy.report["unverified"]}
    lost = train(PARTITIONED, tmp_path, "train.py", "lost")
    assert (lost.status, lost.told) == (86, [("accumulated gradient", "error")]), lost.err


# Under ZeRO 3 a parameter is empty but where a pass through the model needs it, and says how large it is as a whole.
EMPTIED = (
    PARTITIONED.replace("return 2", "return 3")
    .replace(
        "        self.micro = 0\n",
        "        self.micro = 0\n"
        "        for one in self.parts:\n"
        "            one.ds_id, one.ds_numel, one.whole = id(one), one.numel(), one.data\n"
        "            one.data = one.data.new_empty(0)\n",
    )
    .replace(
        "        return self.module(x)\n",
        "        for one in self.parts:\n            one.data = one.whole\n        return self.module(x)\n",
    )
    .replace(
        "            one.grad = None\n", "            one.grad = None\n            one.data = one.data.new_empty(0)\n"
    )
)


def test_gradients_of_parameters_that_are_empty_here_are_read_where_they_are_whole(tmp_path: Path) -> None:
    """By the names that DeepSpeed has; the real one is in the trials."""
    healthy = train(EMPTIED, tmp_path, "train.py", "kept")
    assert (healthy.status, healthy.told, healthy.out) == (0, [], "trained False\n"), healthy.err
    assert healthy.report is not None
    assert "accumulated gradient" in healthy.report["verified"]
    assert healthy.report["settings"]["deepspeed.zero_stage"] == 3
    lost = train(EMPTIED, tmp_path, "train.py", "lost")
    assert (lost.status, lost.told) == (86, [("accumulated gradient", "error")]), lost.err

"""The guard in processes that really train, by the interpreter that ``GRADCOMPAT_PROBE_PYTHON`` names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gradcompat.guard.launch import environment
from gradcompat.guard.options import Options
from gradcompat.knowledge.records import read
from tests.conftest import ROOT, Run
from tests.knowledge.authored import RECORD, written
from tests.probes.really import INTERPRETER, LAYERS, NEEDS_TORCH

pytestmark = NEEDS_TORCH

# A plain loop: LOSS is computed for each of four micro-batches, and whatever a test wants happens in between.
LOOP = """\
import torch
from torch.nn import functional as F

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
{before}
for step in range({steps}):
    for micro in range(4):
        x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
        loss = F.cross_entropy(model(x), y) {scaled}
        loss.backward()
        {between}
    optimizer.step()
    optimizer.zero_grad()
print(sum(p.double().sum().item() for p in model.parameters()).hex())
if torch.distributed.is_initialized():
    # Gloo's threads drop the last work of DDP with the GIL: while they live, an interpreter that ends aborts.
    del model, optimizer, loss
    torch.distributed.destroy_process_group()
"""


def loop(*, steps: int = 10, scaled: str = "/ 4", between: str = "pass", before: str = "") -> str:
    return LOOP.format(steps=steps, scaled=scaled, between=between, before=before)


@dataclass(frozen=True)
class Trained:
    """What a process printed and how it ended, and the report that the guard wrote."""

    out: str
    err: str
    status: int
    report: Mapping[str, Any] | None

    @property
    def told(self) -> list[tuple[str, str]]:
        """Detector and level of the findings, but for notes."""
        findings = (self.report or {}).get("findings", [])
        return [(one["detector"], one["level"]) for one in findings if one["level"] != "note"]


def train(script: str, folder: Path, *arguments: str, guarded: bool = True, **variables: str) -> Trained:
    """Run a script as `gradcompat run` starts it; ``guarded`` False runs it alone."""
    (folder / "train.py").write_text(script, "utf-8")
    report = folder / "report.json"
    options = Options(report=str(report), python=sys.executable)
    layers = os.pathsep.join(str(one) for one in LAYERS)
    plain = {**{key: value for key, value in os.environ.items() if key != "PYTHONPATH"}, "OMP_NUM_THREADS": "1"}
    if layers:
        plain["PYTHONPATH"] = layers
    done = subprocess.run(
        [INTERPRETER, *(arguments or ("train.py",))],
        cwd=folder,
        env={**(environment(options, plain) if guarded else plain), **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    read = json.loads(report.read_text("utf-8")) if report.exists() else None
    return Trained(done.stdout, done.stderr, done.returncode, read)


def test_a_healthy_loop_has_the_same_weights_bit_for_bit(tmp_path: Path) -> None:
    guarded, alone = train(loop(), tmp_path), train(loop(), tmp_path, guarded=False)
    assert guarded.out == alone.out
    assert (guarded.status, guarded.told) == (0, [])
    assert guarded.report is not None
    assert guarded.report["steps"] == 2
    assert {"objective weight", "accumulated gradient", "movement"} <= set(guarded.report["verified"])
    assert guarded.err.count("gradcompat guard:") == 2  # the first line and the last one


def test_gradients_that_are_erased_stop_the_run_before_the_update(tmp_path: Path) -> None:
    script = loop(between="if micro == 1: optimizer.zero_grad()") + "\nprint('not reached')"
    trained = train(script, tmp_path)
    assert (trained.status, trained.out) == (86, "")
    assert trained.told == [("accumulated gradient", "error")]
    assert trained.report is not None
    assert trained.report["stopped"] is True
    assert "stopped   before the update, with exit status 86" in trained.err


def test_what_no_record_explains_becomes_one_by_the_command_that_the_screen_names(tmp_path: Path, run: Run) -> None:
    trained = train(loop(between="if micro == 1: optimizer.zero_grad()"), tmp_path)
    assert "`gradcompat knowledge new --from gradcompat-guard.json`" in trained.err
    path = written(tmp_path, RECORD)
    rest = ("--details", "Lost.", "--reference", "https://example.org/1", "--remedy", "code zero them later")
    outcome = run("knowledge", "new", str(path), "--from", str(tmp_path / "report.json"), *rest)
    assert outcome.status == 0, outcome.err
    assert set(read(path).records[-1].affected[0].packages) == {"torch"}


def test_a_run_that_only_warns_goes_on(tmp_path: Path) -> None:
    script = loop(between="if micro == 1: optimizer.zero_grad()")
    trained = train(script, tmp_path, GRADCOMPAT_GUARD_ON_DEFECT="warn")
    assert trained.status == 0
    assert trained.out == train(script, tmp_path, guarded=False).out
    assert trained.err.count("the optimizer gets") == 1
    assert trained.report is not None
    assert trained.report["stopped"] is False


def test_an_accumulation_that_nobody_divides_is_told(tmp_path: Path) -> None:
    assert train(loop(scaled=""), tmp_path).told == [("objective weight", "warning")]


OFF = """
from torch.optim.optimizer import _global_optimizer_post_hooks as after, _global_optimizer_pre_hooks as before
wrapped = (F.cross_entropy, F.softmax, F.scaled_dot_product_attention, torch.autograd.backward)
print(len(before), len(after), sum(hasattr(one, "__wrapped__") for one in wrapped))
print(sum(len(one._forward_pre_hooks) for one in model.modules()))
print(sum(len(one._backward_hooks or ()) for one in model.parameters()))
"""


def test_everything_is_taken_off_after_the_last_guarded_step(tmp_path: Path) -> None:
    assert train(loop(steps=4) + OFF, tmp_path).out.splitlines()[1:] == ["0 0 0", "0", "0"]
    still_on = train(loop(steps=2) + OFF, tmp_path).out.splitlines()[1:]
    assert still_on[0].startswith("1 1 ")  # it ends when the next step begins
    assert still_on[1:] != ["0", "0"]


def test_a_model_can_be_pickled_while_it_is_guarded(tmp_path: Path) -> None:
    script = "import pickle\n" + loop(between="pickle.loads(pickle.dumps(model))(x)")
    trained = train(script, tmp_path)
    assert (trained.status, trained.told) == (0, []), trained.err
    assert trained.report is not None
    assert trained.report["steps"] == 2


LATER = "if step == {step} and micro == 2: loss = loss * float('inf')"


def test_a_loss_that_becomes_infinite_later_is_told_where_that_is_asked_for(tmp_path: Path) -> None:
    script = loop(steps=6).replace(
        "        loss.backward()", f"        {LATER.format(step=4)}\n        loss.backward()"
    )
    silent = train(script, tmp_path)
    assert (silent.status, silent.told) == (0, [])
    trained = train(script, tmp_path, GRADCOMPAT_GUARD_ALSO="later-losses")
    assert (trained.status, trained.told) == (0, [("finite loss", "warning")])
    # The pass that ends the guarded steps is the first of step 2; the one that is planted is the third of step 4.
    assert "a loss was NaN or infinite in backward pass 10 after the guarded steps" in trained.err.replace("\n  ", " ")
    assert trained.out == silent.out


def test_a_healthy_run_has_its_weights_with_the_flag_too(tmp_path: Path) -> None:
    off = "print('still', hasattr(torch.autograd.backward, '__wrapped__'))\n"
    trained = train(loop() + off, tmp_path, GRADCOMPAT_GUARD_ALSO="later-losses")
    assert (trained.status, trained.told) == (0, [])
    assert trained.out == train(loop() + off, tmp_path, guarded=False).out.replace("False", "True")


COUNTED = "if step == 6 and micro == 0: calls = []; __import__('sys').setprofile(lambda *event: calls.append(event[1]))"


def test_a_later_step_makes_no_call_more_than_one_without_the_guard(tmp_path: Path) -> None:
    """Exact where a clock is not: every call of Python and of C in step 7 and after is counted."""
    script = loop(steps=8, between=COUNTED) + "\n__import__('sys').setprofile(None); print(len(calls))"
    guarded, alone = (train(script, tmp_path, guarded=one).out.split() for one in (True, False))
    assert guarded == alone
    assert int(alone[-1]) > 100


def test_the_error_of_the_program_is_its_own(tmp_path: Path) -> None:
    script = loop(between="if step == 0 and micro == 2: raise KeyError('mine')")
    trained = train(script, tmp_path)
    assert trained.status == 1
    assert "KeyError: 'mine'" in trained.err
    frames = [line for line in trained.err.splitlines() if line.startswith("  File ")]
    assert len(frames) == 1  # the program's own line, and none of the guard


@pytest.mark.parametrize(
    "script",
    [
        "import torch\nmodel = torch.nn.Linear(2, 2)\nmodel(torch.ones(1, 2)).sum().backward()\nprint('done')",
        "import torch\nprint(torch.nn.Linear(2, 2)(torch.ones(1, 2)).shape[0]); print('done')",
        "import torch\nx = torch.ones(1, requires_grad=True)\no = torch.optim.SGD([x], lr=0.1)\nx.sum().backward()\n"
        "o.step()\nprint('done')",
        "import torch\nx = torch.ones(3, requires_grad=True)\ntorch.optim.SGD([x], lr=0.1).step()\nprint('done')",
    ],
    ids=["no optimizer", "no loss", "no module", "no backward"],
)
def test_a_program_that_hardly_trains_ends_as_without_the_guard(tmp_path: Path, script: str) -> None:
    trained = train(script, tmp_path)
    assert trained.out.endswith("done\n")
    assert trained.status == 0
    assert "Traceback" not in trained.err
    assert "failed" not in trained.err


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_a_data_loader(tmp_path: Path, context: str) -> None:
    script = f"""\
import torch
from torch.nn import functional as F


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        x = torch.full((8,), float(index), requires_grad=True)
        F.mse_loss(x, torch.zeros(8)).backward()  # a worker may use torch as it likes
        return x.detach(), index % 3


if __name__ == "__main__":
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 3)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = torch.utils.data.DataLoader(Data(), batch_size=8, num_workers=2, multiprocessing_context="{context}")
    for x, y in loader:
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    print("done")
"""
    trained = train(script, tmp_path)
    assert (trained.out, trained.status, trained.told) == ("done\n", 0, [])
    assert trained.err.count("looks at the first") == 1


def test_two_guards_at_once(tmp_path: Path) -> None:
    script = loop(
        before="from gradcompat.guard import Guard\nfirst = Guard(model).__enter__()\nGuard(model).__enter__()"
    )
    trained = train(script, tmp_path, GRADCOMPAT_GUARD_REPORT="")
    assert trained.status == 0
    assert "another guard is at work, this one does nothing" in trained.err
    assert trained.err.count("looks at the first") == 1


def test_a_guard_that_fails_says_so_once_and_lets_the_run_go_on(tmp_path: Path) -> None:
    broken = (
        "from gradcompat.guard.observer import Observer\n"
        "def measure(self, optimizer): raise RuntimeError('planted')\n"
        "Observer.measure = measure"
    )
    trained = train(loop(before=broken), tmp_path)
    assert trained.out == train(loop(), tmp_path, guarded=False).out
    assert trained.err == "gradcompat guard: failed (RuntimeError: planted); the run goes on without it\n"


def test_what_cannot_be_told_hides_no_stop(tmp_path: Path) -> None:
    broken = (
        "from gradcompat.guard.guard import Guard\n"
        "records = Guard._records\n"
        "def fail(self):\n"
        "    if self.judgement.errors: raise RuntimeError('planted')\n"
        "    return records(self)\n"
        "Guard._records = fail"
    )
    trained = train(loop(before=broken, between="if micro == 1: optimizer.zero_grad()"), tmp_path)
    assert (trained.status, trained.out) == (86, "")
    assert "stopped (RuntimeError: planted)" in trained.err


HELD = """
import gc, weakref
gc.disable()
here = globals()
held = {name: weakref.ref(here.pop(name)) for name in ("model", "optimizer")}
print(sorted(name for name, one in held.items() if one() is not None))
"""


@pytest.mark.parametrize("steps", [3, 2])
@pytest.mark.parametrize("entered", [False, True])
def test_models_and_optimizers_are_let_go_of_when_the_guard_is_off(tmp_path: Path, entered: bool, steps: int) -> None:
    """Behind the guarded steps, the memory of what a program deletes is free at once, without a garbage collection.

    After the second step the guard waits for what the optimizer leaves, and so for a third one or the end.
    """
    before = "from gradcompat.guard import Guard\nguard = Guard(model).__enter__()" if entered else ""
    leave = "guard.end()" if entered and steps == 2 else ""
    trained = train(loop(before=before, steps=steps) + leave + HELD, tmp_path)
    assert trained.status == 0, trained.err
    assert "2 steps verified" in trained.err
    assert trained.out.splitlines()[-1] == ("[]" if entered or steps == 3 else "['model', 'optimizer']")


def test_a_torch_without_hooks_for_optimizers_is_not_guarded(tmp_path: Path) -> None:
    """Torch 1.13 has none; here they are taken away."""
    script = "import os\nos.environ['GRADCOMPAT_GUARD'] = '0'\n" + loop(
        before="import torch.optim.optimizer as o\ndel o.register_optimizer_step_pre_hook\n"
        "from gradcompat.guard import Guard\nGuard(model).__enter__()"
    )
    trained = train(script, tmp_path)
    assert "has no hooks for optimizers, 2.0 is needed" in trained.err
    assert trained.status == 0


def test_functions_that_are_wrapped_can_be_scripted(tmp_path: Path) -> None:
    script = (
        "import torch\nfrom torch.nn import functional as F\n"
        "@torch.jit.script\ndef loss(x, y):\n    return F.cross_entropy(x, y)\n"
        "print(round(loss(torch.zeros(2, 4), torch.tensor([1, 2])).item(), 4))"
    )
    trained = train("import warnings\nwarnings.simplefilter('ignore')\n" + script, tmp_path)
    assert trained.out == "1.3863\n"


TRAINER = """\
import sys, warnings
warnings.simplefilter("ignore")
from gradcompat.probes.inside import models, trainers
import transformers
transformers.logging.set_verbosity_error()
kind = sys.argv[1]
model = models.build(kind, 0)
trainer = trainers.train(
    model, models.samples(kind, "equal", 24, 0), per_device_train_batch_size=1, gradient_accumulation_steps=4,
    max_steps=5, learning_rate=0.01, **trainers.on("cpu"))
print("training_step" in vars(trainer), sum(p.double().sum().item() for p in model.parameters()).hex())
"""


@pytest.mark.skipif(bool(LAYERS), reason="what is right depends on the release")
def test_the_trainer_of_transformers(tmp_path: Path) -> None:
    """4.49.0 multiplies the gradients of LLaVA by the accumulation (GC-0004), and not those of Llama."""
    wrong = train(TRAINER, tmp_path, "train.py", "llava")
    assert (wrong.status, wrong.told[0]) == (86, ("objective weight", "error"))
    assert wrong.report is not None
    assert wrong.report["findings"][0]["records"][0] == "GC-0004"
    assert wrong.report["measured"][0]["objective_weight"] == pytest.approx(4.0, rel=0.01)
    assert "GC-0004" in wrong.err
    assert "upgrade transformers 4.49.0 to" in wrong.err.replace("\n            ", " ")
    text = json.dumps(wrong.report)
    assert str(tmp_path) not in text
    assert str(ROOT) not in text
    right = train(TRAINER, tmp_path, "train.py", "llama")
    assert (right.status, right.told) == (0, [])
    assert right.out.startswith("False ")  # the wrapper of the Trainer's method is gone
    alone = train(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + TRAINER,
        tmp_path,
        "train.py",
        "llama",
        guarded=False,
    )
    assert right.out == alone.out


BY_HAND = """
import warnings
warnings.simplefilter("ignore")
from gradcompat.guard import GuardCallback
from gradcompat.probes.inside import models, trainers
import transformers
transformers.logging.set_verbosity_error()
callback = GuardCallback(report="")
trainer = transformers.Trainer(
    model=models.build("llama", 0),
    args=trainers.arguments(gradient_accumulation_steps=2, max_steps=1, **trainers.on("cpu")),
    train_dataset=models.samples("llama", "equal", 24, 0),
    data_collator=trainers.collate,
    callbacks=[callback],
)
trainer.train()
print(callback.guard.judgement.clean[:2], callback.guard.finished)
"""


def test_a_callback_of_the_program_takes_the_place_of_the_one_of_the_command(tmp_path: Path) -> None:
    """One optimizer step is fewer than two: what was verified of it is said at the end of the training."""
    trained = train(BY_HAND, tmp_path)
    assert trained.out.splitlines()[-1] == "['finite loss', 'objective weight'] True"
    assert trained.err.count("looks at the first 2 optimizer steps (Trainer of transformers)") == 1
    assert trained.err.count("1 step verified") == 1


OWN_LOSS = """
import sys, warnings
warnings.simplefilter("ignore")
from gradcompat.probes.inside import models, trainers
import torch, transformers
transformers.logging.set_verbosity_error()


class Own(transformers.Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"][:, 1:]
        chosen = model(input_ids=inputs["input_ids"]).logits[:, :-1].log_softmax(-1)
        chosen = chosen.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        return -(chosen * (labels != -100)).sum() / num_items_in_batch


model = models.build("llama", 0)
Own(model=model, args=trainers.arguments(per_device_train_batch_size=1, gradient_accumulation_steps=4, max_steps=3,
    learning_rate=0.01, **trainers.on("cpu")), train_dataset=models.samples("llama", "unequal", 24, 0),
    data_collator=trainers.collate).train()
"""


@pytest.mark.skipif(bool(LAYERS), reason="what a Trainer divides depends on the release")
def test_a_loss_of_ones_own_is_replayed_with_the_batch_of_its_own_step(tmp_path: Path) -> None:
    trained = train(OWN_LOSS, tmp_path)
    assert (trained.status, trained.told) == (0, []), trained.err
    assert "step 2 count" not in trained.err
    assert trained.report is not None
    assert not [one for one in trained.report["findings"] if one["detector"] == "objective weight"]


SMOOTHED = """
import sys, warnings
warnings.simplefilter("ignore")
from gradcompat.probes.inside import models, trainers
import transformers
transformers.logging.set_verbosity_error()


class Uncounting(transformers.Trainer):  # up to 4.45 the Trainer counts no labels, and averages means
    def get_batch_samples(self, *arguments, **keywords):
        return super().get_batch_samples(*arguments, **keywords)[0], None


trainer = Uncounting(model=models.build("llama", 0), args=trainers.arguments(per_device_train_batch_size=1,
    gradient_accumulation_steps=4, max_steps=3, learning_rate=0.01, label_smoothing_factor=0.1,
    **trainers.on("cpu")), train_dataset=models.samples("llama", sys.argv[1], 24, 0), data_collator=trainers.collate)
trainer.model_accepts_loss_kwargs = False
trainer.train()
"""


@pytest.mark.skipif(bool(LAYERS), reason="what a Trainer counts depends on the release")
@pytest.mark.parametrize(("counts", "told"), [("equal", []), ("unequal", [("token weights", "warning")])])
def test_label_smoothing_where_the_trainer_counts_no_labels(
    tmp_path: Path, counts: str, told: list[tuple[str, str]]
) -> None:
    trained = train(SMOOTHED, tmp_path, "train.py", counts)
    assert (trained.status, trained.told) == (0, told), trained.err
    assert trained.report is not None
    assert ("token weights" in trained.report["verified"]) == (not told)


RESUMED = """
import os, sys, warnings
warnings.simplefilter("ignore")
from gradcompat.probes.inside import models, trainers
import transformers, transformers.trainer
transformers.logging.set_verbosity_error()
if sys.argv[1] == "again":  # as where nothing is skipped
    transformers.trainer.skip_first_batches = lambda loader, count: loader
checkpoint = os.path.join("run", "checkpoint-2")
transformers.Trainer(model=models.build("llama", 0), args=trainers.arguments(per_device_train_batch_size=1,
    gradient_accumulation_steps=2, max_steps=int(sys.argv[2]), save_steps=2,
    **(trainers.on("cpu") | {"output_dir": "run", "save_strategy": "steps"})),
    train_dataset=models.samples("llama", "unequal", 24, 0),
    data_collator=trainers.collate).train(resume_from_checkpoint=checkpoint if os.path.exists(checkpoint) else None)
"""


@pytest.mark.skipif(bool(LAYERS), reason="what a Trainer skips depends on the release")
@pytest.mark.parametrize(("how", "told"), [("behind", []), ("again", [("resumed data", "warning")])])
def test_data_that_repeats_after_a_resume(tmp_path: Path, how: str, told: list[tuple[str, str]]) -> None:
    first = train(RESUMED, tmp_path, "train.py", "behind", "3")
    assert (first.status, first.told) == (0, []), first.err
    resumed = train(RESUMED, tmp_path, "train.py", how, "5")
    assert (resumed.status, resumed.told) == (0, told), resumed.err
    assert resumed.report is not None
    assert ("resumed data" in resumed.report["verified"]) == (not told)
    assert len(resumed.report["first_batches"]) == 2


DISTRIBUTED = """\
import contextlib, sys
import torch
import torch.distributed as dist
from torch.nn import functional as F

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 3)))
trained = model.parameters()
if sys.argv[1] == "stale" and rank == 1:
    trained = [torch.nn.Parameter(one.detach().clone()) for one in trained]
optimizer = torch.optim.AdamW(trained, lr=0.01)
if "slow" in sys.argv:
    import threading
    from gradcompat.guard.guard import Guard
    speak = Guard._records
    Guard._records = lambda self: (threading.Event().wait(3.0) if self.judgement.errors else None, speak(self))[1]
generator = torch.Generator().manual_seed(0 if sys.argv[1] == "same" else rank)
for step in range(4):
    for micro in range(2):
        x, y = torch.randn(8, 8, generator=generator), torch.randint(0, 3, (8,), generator=generator)
        with model.no_sync() if micro == 0 else contextlib.nullcontext():
            loss = F.cross_entropy(model(x), y) / 2
            if sys.argv[1] == "nan" and rank == 1:
                loss = loss * float("nan")
            loss.backward()
    if sys.argv[1] == "apart" and rank == 1:
        with torch.no_grad():
            model.module[0].weight.add_(0.1)
    optimizer.step()
    if sys.argv[1] == "after" and rank == 1 and step == 1:
        with torch.no_grad():
            model.module[0].weight.add_(0.1)
    optimizer.zero_grad()
print("trained", rank, flush=True)
dist.barrier()
del model, trained, optimizer, loss
dist.destroy_process_group()
"""
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py")


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("right", []),
        ("nan", [("finite loss", "error")]),
        ("apart", [("replicas", "error")]),
        ("after", [("replicas", "error")]),  # in the last guarded step, which no other one follows
    ],
)
def test_two_ranks_judge_alike_and_one_speaks(tmp_path: Path, what: str, told: list[tuple[str, str]]) -> None:
    trained = train(DISTRIBUTED, tmp_path, *TORCHRUN, what)
    assert trained.told == told
    # Not the status of torchrun: Gloo now and then aborts at the interpreter's exit, with the guard and without it.
    assert trained.out.count("trained") == (0 if told else 2)
    assert trained.err.count("looks at the first") <= 1
    where = "behind the update of step 2" if what == "after" else "before the update"
    assert trained.err.count(f"stopped   {where}") == len(told)


LAST_STEP = """
import os, sys
import torch
import torch.distributed as dist
from torch.nn import functional as F
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 3))
optimizer = torch.optim.AdamW(model.parameters())
torch.manual_seed(rank)
for step in range(2):
    F.cross_entropy(model(torch.randn(4, 8)), torch.randint(0, 3, (4,))).backward()
    optimizer.step()
    optimizer.zero_grad()
if sys.argv[1] == "apart" and rank:
    with torch.no_grad():
        model.module.weight += 1
if sys.argv[2] == "destroy":
    del model, optimizer
    dist.destroy_process_group()
print("trained")
"""


@pytest.mark.parametrize(("what", "told"), [("right", []), ("apart", [("replicas", "error")])])
def test_replicas_after_the_last_step_of_a_run_that_ends_with_its_process_group(
    tmp_path: Path, what: str, told: list[tuple[str, str]]
) -> None:
    trained = train(LAST_STEP, tmp_path, *TORCHRUN, what, "destroy")
    assert trained.told == told, trained.err
    assert trained.out.count("trained") == (0 if told else 2)
    assert "replicas after the last step" not in trained.err


def test_replicas_after_the_last_step_of_a_run_that_keeps_its_process_group_are_not_verified(tmp_path: Path) -> None:
    trained = train(LAST_STEP, tmp_path, *TORCHRUN, "apart", "keep")
    assert trained.told == []
    assert "replicas after the last step" in trained.err.replace("\n  ", " "), trained.err


def test_two_ranks_that_train_on_the_same_samples_are_told(tmp_path: Path) -> None:
    trained = train(DISTRIBUTED, tmp_path, *TORCHRUN, "same")
    assert trained.told == [("replicas", "warning")]
    assert "all 2 ranks train on the same first batch" in trained.err
    assert trained.out.count("trained") == 2


@pytest.mark.parametrize(("what", "told"), [("nan", "finite loss"), ("apart", "replicas")])
def test_the_launcher_ends_no_rank_before_the_speaker_has_spoken(tmp_path: Path, what: str, told: str) -> None:
    """The speaker waits for the plan; the rank that has nothing to say would end first, and torchrun the others."""
    trained = train(DISTRIBUTED, tmp_path, *TORCHRUN, what, "slow")
    assert trained.told == [(told, "error")]
    assert trained.err.count("stopped   before the update") == 1


def test_an_error_that_one_rank_alone_sees_stops_all_and_is_told(tmp_path: Path) -> None:
    """The optimizer of rank 1 holds copies: that is known when the steps are over, and to no other rank."""
    trained = train(DISTRIBUTED, tmp_path, *TORCHRUN, "stale", GRADCOMPAT_GUARD_STEPS="1")
    assert "no optimizer" in trained.err.replace("\n  ", " ")
    assert ("optimizer parameters", "error") in trained.told
    assert trained.err.count("stopped   behind the update of step 1") == 1
    assert "trained" not in trained.out

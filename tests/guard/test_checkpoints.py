"""The first checkpoint of a run, read back: what is in it, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.guard.detectors.checkpoint import judge_checkpoint
from gradcompat.guard.findings import Finding, Unverified, Verified
from gradcompat.guard.measurement import Checkpoint
from tests.guard.test_training import loop, train
from tests.probes.really import LAYERS, NEEDS_TORCH


@pytest.mark.parametrize(
    ("checkpoint", "outcome"),
    [
        (Checkpoint(equal=3), Verified),
        (Checkpoint(equal=3, unknown=2), Verified),  # what a file holds besides
        (Checkpoint(equal=2, different=("a",)), "warning"),
        (Checkpoint(equal=2, missing=("a",)), "warning"),
        (Checkpoint(equal=2, missing=("a",), unknown=1), Unverified),  # renamed, perhaps
        (Checkpoint(cast=("a", "b")), "note"),
        (Checkpoint(different=("a", "b")), Unverified),  # an average
    ],
)
def test_a_checkpoint_is_judged(checkpoint: Checkpoint, outcome: object) -> None:
    (found,) = judge_checkpoint(checkpoint)
    assert (found.level if isinstance(found, Finding) else type(found)) == outcome


SAVED = "if step == {step} and micro == 0: save()"
SAVE = """
wrapped = torch.nn.Sequential()
wrapped.add_module("module", model)


def save():
    {}
    print(hasattr(torch.serialization._open_zipfile_writer_file.__exit__, "__wrapped__"))
"""
EQUAL = {
    "a state": 'torch.save(model.state_dict(), "model.pt")',
    "within others": 'torch.save({"model": wrapped.state_dict(), "optimizer": optimizer.state_dict()}, "model.pt")',
    "beside an average": 'torch.save({"model": model.state_dict(), "ema": {name: one + 1 for name, one in '
    'model.state_dict().items()}}, "model.pt")',
    "behind the optimizer": 'torch.save(optimizer.state_dict(), "o.pt"); torch.save(model.state_dict(), "model.pt")',
    "in shards": "from safetensors.torch import save_file; state = model.state_dict(); names = list(state); "
    '[save_file({name: state[name] for name in names[half::2]}, f"model-0000{half + 1}-of-00002.safetensors") '
    "for half in (0, 1)]",
}
LOST = {
    "a tensor is missing": 'state = model.state_dict(); state.pop("3.weight"); torch.save(state, "model.pt")',
    "other numbers": 'state = {**model.state_dict()}; state["3.weight"] = state["3.weight"] * 2; '
    'torch.save(state, "model.pt")',
    "another shape": 'state = {**model.state_dict()}; state["3.weight"] = state["3.weight"][:1]; '
    'torch.save(state, "model.pt")',
}


class TestInProcesses:
    pytestmark = NEEDS_TORCH

    @pytest.mark.parametrize(("how", "step"), [*((how, 5) for how in EQUAL), ("a state", 1)])
    def test_a_checkpoint_that_is_equal(self, tmp_path: Path, how: str, step: int) -> None:
        script = loop(before="import safetensors.torch" + SAVE.format(EQUAL[how]), between=SAVED.format(step=step))
        trained = train(script, tmp_path, GRADCOMPAT_GUARD_ALSO="checkpoint")
        assert (trained.status, trained.told) == (0, []), trained.err
        assert "the first checkpoint is read back: 4 parameters are equal bit for bit" in trained.err
        assert trained.report is not None
        assert "checkpoint" in trained.report["verified"]
        if step == 1:
            assert trained.out == train(script, tmp_path, guarded=False).out  # and the wrapper is gone

    @pytest.mark.parametrize("how", list(LOST))
    def test_a_checkpoint_that_has_lost_something(self, tmp_path: Path, how: str) -> None:
        script = loop(before=SAVE.format(LOST[how]), between=SAVED.format(step=5))
        trained = train(script, tmp_path, GRADCOMPAT_GUARD_ALSO="checkpoint")
        assert (trained.status, trained.told) == (0, [("checkpoint", "warning")]), trained.err

    def test_a_run_that_writes_none(self, tmp_path: Path) -> None:
        trained = train(loop(), tmp_path, GRADCOMPAT_GUARD_ALSO="checkpoint")
        assert (trained.status, trained.told) == (0, [])
        assert "not verified: checkpoint (none has been written yet)" in trained.err

    def test_a_file_that_is_more_than_tensors_is_not_read(self, tmp_path: Path) -> None:
        script = loop(before=SAVE.format('torch.save(model, "model.pt")'), between=SAVED.format(step=1))
        trained = train(script, tmp_path, GRADCOMPAT_GUARD_ALSO="checkpoint")
        assert (trained.status, trained.told) == (0, [])
        assert "cannot be read back with weights_only" in trained.err

    @pytest.mark.skipif(bool(LAYERS), reason="what a Trainer writes depends on the release")
    @pytest.mark.parametrize("model", ["llama", "t5", "llama_lora"])
    def test_checkpoints_of_the_trainer(self, tmp_path: Path, model: str) -> None:
        """With tied weights, and of adapters."""
        trained = train(TRAINER, tmp_path, "train.py", model, GRADCOMPAT_GUARD_ALSO="checkpoint")
        assert (trained.status, trained.told) == (0, []), trained.err
        assert trained.report is not None
        assert "checkpoint" in trained.report["verified"]


TRAINER = """
import sys, warnings
warnings.simplefilter("ignore")
from gradcompat.probes.inside import models, trainers
import transformers
transformers.logging.set_verbosity_error()
transformers.Trainer(model=models.build(sys.argv[1], 0), args=trainers.arguments(per_device_train_batch_size=1,
    max_steps=4, save_steps=3, **(trainers.on("cpu") | {"output_dir": "run", "save_strategy": "steps"})),
    train_dataset=models.samples(sys.argv[1], "equal", 24, 0), data_collator=trainers.collate).train()
"""

"""Lightning's Trainer in YAML: strategies, precisions, intervals, and what is not its own."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.code import python_code
from gradcompat.scanners.configs import lightning_cli
from gradcompat.scanners.run_assembly import join
from tests.scanners.scanned import fixture, lines, stated


def trainer(text: str) -> dict[str, SettingValue | None]:
    given = "\n  ".join(text.split("; "))
    context = lightning_cli.scan(Document("a.yaml", f"trainer:\n  log_every_n_steps: 1\n  callbacks: []\n  {given}\n"))
    assert context.skipped == ()
    settings = stated(context)
    assert settings.pop("training.framework") == "lightning"
    assert settings.pop("code.symbols") == ("lightning.pytorch.Trainer",)
    del settings["code.calls"]
    return settings


def test_the_trainer_is_called_with_what_the_config_gives() -> None:
    text = (
        "trainer:\n  max_epochs: 3\n  val_check_interval: 1000\n  devices: [0]\n  precision: ${precision}\n"
        "  logger:\n    name: x\n"
    )
    calls = stated(lightning_cli.scan(Document("a.yaml", text)))["code.calls"]
    expected = "max_epochs=3, val_check_interval=1000, devices=_, precision=_, logger=_"
    assert calls == (f"lightning.pytorch.Trainer({expected})",)


def test_a_config() -> None:
    context = lightning_cli.scan(fixture("lightning/cli.yaml"))
    assert (context.source, context.kind, context.run, context.skipped) == ("cli.yaml", "lightning-cli", True, ())
    assert context.refers_to == ("google/flan-t5-base/config.json",)
    assert lines(context) == [
        (2, "training.seed", 42),
        (3, "training.framework", "lightning"),
        (5, "distributed.strategy", "deepspeed"),
        (5, "deepspeed.zero_stage", 2),
        (5, "deepspeed.overlap_comm", True),
        (5, "deepspeed.contiguous_gradients", True),
        (5, "deepspeed.offload_optimizer", "cpu"),
        (6, "distributed.processes", 8),
        (8, "precision.mode", "fp16"),
        (9, "training.gradient_accumulation_steps", 8),
        (10, "training.max_grad_norm", 1.0),
        (12, "training.validation_inside_epoch", True),
        (13, "training.num_train_epochs", 3.0),
        (15, "optimizer.name", "AdamW"),
        (15, "optimizer.library", "torch"),
        (16, "optimizer.weight_decay", 0.1),
        (19, "model.name", "google/flan-t5-base"),
        (19, "model.architecture", ("T5ForConditionalGeneration",)),
        (15, "code.symbols", ("torch.optim.AdamW", "my.Module", "lightning.pytorch.Trainer")),
        (
            15,
            "code.calls",
            (
                "torch.optim.AdamW(weight_decay=0.1)",
                "my.Module(model_name_or_path='google/flan-t5-base')",
                "lightning.pytorch.Trainer(accelerator='gpu', strategy='deepspeed_stage_2_offload', "
                "devices=4, num_nodes=2, precision=16, accumulate_grad_batches=8, gradient_clip_val=1.0, "
                "gradient_clip_algorithm='norm', val_check_interval=0.25, max_epochs=3)",
            ),
        ),
    ]


def test_a_config_of_a_subcommand() -> None:
    context = lightning_cli.scan(fixture("lightning/subcommand.yaml"))
    assert context.refers_to == ("ds/zero2.json",)
    assert lines(context) == [
        (2, "training.seed", None),
        (3, "training.framework", "lightning"),
        (6, "distributed.strategy", "deepspeed"),
        (8, "deepspeed.zero_stage", 2),
        (11, "distributed.processes", None),
        (12, "precision.mode", "bf16"),
        (15, "training.gradient_accumulation_steps", None),
        (18, "training.validation_inside_epoch", False),
        (19, "training.resume_from_checkpoint", True),
        (6, "code.symbols", ("lightning.pytorch.strategies.DeepSpeedStrategy", "lightning.pytorch.Trainer")),
        (
            6,
            "code.calls",
            (
                "lightning.pytorch.strategies.DeepSpeedStrategy(stage=2, offload_optimizer=True, "
                "config='ds/zero2.json')",
                "lightning.pytorch.Trainer(accelerator='auto', strategy=_, devices='auto', "
                "precision='bf16-mixed', gradient_clip_val=0.5, gradient_clip_algorithm='value', "
                "accumulate_grad_batches=_, val_check_interval=1.0)",
            ),
        ),
    ]


CALLBACK = """trainer:
  max_epochs: 3
  callbacks:
    - class_path: lightning.pytorch.callbacks.ModelCheckpoint
      init_args: {every_n_train_steps: 500, dirpath: [a]}
"""


def test_the_classes_of_a_config_are_used_beside_the_program_that_reads_it() -> None:
    config = lightning_cli.scan(Document("c.yaml", CALLBACK))
    text = "from lightning.pytorch.cli import LightningCLI\nLightningCLI()\n"
    program = python_code.scan(Document("main.py", text))
    (run,) = join([config, program])
    used = [setting.value for setting in run.settings if setting.key == "code.symbols"]
    called = [setting.value for setting in run.settings if setting.key == "code.calls"]
    made = ("lightning.pytorch.callbacks.ModelCheckpoint", "lightning.pytorch.Trainer")
    assert used == [made, ("lightning.pytorch.cli.LightningCLI",)]
    assert called[0] == (
        "lightning.pytorch.callbacks.ModelCheckpoint(every_n_train_steps=500, dirpath=_)",
        "lightning.pytorch.Trainer(max_epochs=3, callbacks=_)",
    )


def test_a_config_alone_does_not_list_what_its_program_uses() -> None:
    (run,) = join([lightning_cli.scan(Document("c.yaml", CALLBACK))])
    assert {setting.key for setting in run.settings} == {"training.framework", "training.num_train_epochs"}


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("precision: 16-mixed", {"precision.mode": "fp16"}),
        ('precision: "32-true"', {"precision.mode": "no"}),
        ("precision: ${precision}", {"precision.mode": None, "precision.half_weights": None}),
        ("precision: bf16-true", {"precision.mode": "bf16", "precision.half_weights": True}),
        ("strategy: auto", {"distributed.strategy": None}),
        (
            "strategy: ddp_find_unused_parameters_true",
            {"distributed.strategy": "ddp", "distributed.find_unused_parameters": True},
        ),
        (
            "strategy: deepspeed_stage_3_offload",
            {
                "distributed.strategy": "deepspeed",
                "deepspeed.zero_stage": 3,
                "deepspeed.overlap_comm": True,
                "deepspeed.contiguous_gradients": True,
                "deepspeed.offload_optimizer": "cpu",
                "deepspeed.offload_param": "cpu",
            },
        ),
        ("val_check_interval: 1", {"training.validation_inside_epoch": True}),
        ("val_check_interval: 1.0", {"training.validation_inside_epoch": False}),
        ("val_check_interval: 0.5; limit_val_batches: 0", {}),
        ("val_check_interval: 00:10:00:00", {"training.validation_inside_epoch": None}),
        ("devices: 1", {"distributed.processes": 1}),
        ("devices: '0,1'", {"distributed.processes": 2}),
        ("devices: [0, 1]; num_nodes: 2", {"distributed.processes": 4}),
        ("devices: -1", {"distributed.processes": None}),
        ("devices: 8; num_nodes: ${nodes}", {"distributed.processes": None}),
        ("max_epochs: -1", {"training.num_train_epochs": None}),
        ("accumulate_grad_batches: null; gradient_clip_val: null", {}),
    ],
)
def test_arguments(text: str, settings: dict[str, SettingValue | None]) -> None:
    assert trainer(text) == settings


@pytest.mark.parametrize(
    "text",
    [
        "trainer: {nnodes: 1, n_gpus_per_node: 8, logger: [console]}",
        "trainer: {devices: 1}",
        "trainer: mine",
        "defaults: [base]\ntrainer: {devices: 1, precision: 16}",
        "trainer: {_target_: lightning.Trainer, devices: 1, precision: 16}",
        "- 1",
        "",
    ],
)
def test_what_is_not_lightnings_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        lightning_cli.scan(Document("a.yaml", text))


def test_a_product_of_two_lines_is_written_on_neither() -> None:
    config = "trainer:\n  max_epochs: 1\n  devices: 4\n  num_nodes: 2\n  accumulate_grad_batches: 2\n"
    settings = lightning_cli.scan(Document("a.yaml", config)).settings
    (processes,) = (one for one in settings if one.key == "distributed.processes")
    assert (processes.value, processes.spelling) == (8, None)

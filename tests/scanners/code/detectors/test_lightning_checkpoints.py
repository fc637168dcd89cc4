"""Which checkpoints of Lightning hold objects, and what reads them."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from gradcompat.scanners.code.detectors.lightning_checkpoints import first_read, keeps_objects

MODULE = """
    @dataclass
    class Config:
        width: int = 2

    class Widths(TypedDict):
        width: int

    class Net(LightningModule):
        def __init__(self, {parameters}):
            super().__init__()
            self.save_hyperparameters({given})

    config = Config()
    net = Net({call})
"""


@pytest.mark.parametrize(
    ("parameters", "given", "call", "expected"),
    [
        ("config: Config", "", "config", True),
        ("config: Widths", "", "Widths(width=2)", False),
        ("config", "", "config", True),
        ("lr, config", "", "1e-3, config=Config()", True),
        ("config", "", "load()", False),
        ("net, lr=1e-3", "", "nn.Linear(2, 2)", True),
        ("net, lr=1e-3", "ignore=['net']", "nn.Linear(2, 2)", False),
        ("net, lr=1e-3", "'lr'", "nn.Linear(2, 2)", False),
        ("path: Path", "", "Path('a')", True),
        ("hparams: Namespace", "hparams", "args", False),
        ("hparams: Namespace", "", "args", True),
    ],
)
def test_what_is_kept(parameters: str, given: str, call: str, expected: bool) -> None:
    text = dedent(MODULE).format(parameters=parameters, given=given, call=call)
    assert keeps_objects([ast.parse(text).body], frozenset({"lightning"})) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trainer.test(ckpt_path='best')", True),
        ("trainer.test(ckpt_path='best', weights_only=False)", False),
        ("self.trainer.validate(datamodule=data)", True),
        ("trainer.test(model, loader)", False),
        ("trainer.test(model=model)", False),
        ("trainer.fit(model, ckpt_path=None)", False),
        ("Net.load_from_checkpoint('a.ckpt')", True),
        ("client.test()", False),
        ("trainer = Trainer(enable_checkpointing=False)\ntrainer.test(datamodule=data)", False),
    ],
)
def test_what_reads_a_checkpoint(text: str, expected: bool) -> None:
    assert (first_read(ast.parse(text).body) is not None) is expected

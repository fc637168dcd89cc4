"""What a program can do without: it makes the failure good, or asks first."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

HEAD = "import soundfile\nimport pytorch_lightning as pl\nimport torchaudio\n"
LOADS = "    wave = torchaudio.load(path)\n"
READS = "    wave = soundfile.read(path)\n"


def used(program: str) -> tuple[set[str], set[str]]:
    """The symbols that are used, and those whose absence is caught."""
    settings = {one.key: one.value for one in scan(Document(path="train.py", text=HEAD + program)).settings}
    symbols, caught = settings.get("code.symbols"), settings.get("code.guarded")
    return set(symbols if isinstance(symbols, tuple) else ()), set(caught if isinstance(caught, tuple) else ())


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (f"try:\n{LOADS}except Exception:\n{READS}", True),
        (f"try:\n{LOADS}except (OSError, ImportError):\n{READS}", True),
        (f"try:\n{LOADS}except ValueError:\n{READS}", False),  # it raises another one
        (f"try:\n{LOADS}except Exception as error:\n    print(error)\n", False),
        (f"try:\n{LOADS}except Exception:\n    raise RuntimeError('no')\n", False),
        (f"try:\n{LOADS}except Exception:\n{READS}other = torchaudio.load(second)\n", False),
        (f"if True:\n{LOADS}", False),
    ],
)
def test_another_way_where_a_function_fails(program: str, expected: bool) -> None:
    symbols, _ = used(program)
    assert "torchaudio.load" in symbols
    assert ("torchaudio.load.with_fallback" in symbols) is expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ('hasattr(pl.Trainer, "add_argparse_args")', True),
        ('args.old and hasattr(pl.Trainer, "add_argparse_args")', True),
        ('args.old or hasattr(pl.Trainer, "add_argparse_args")', False),
        ('hasattr(args, "add_argparse_args")', False),
        ("args.old is not None", False),
    ],
)
def test_a_function_that_is_asked_for(test: str, expected: bool) -> None:
    symbols, _ = used(f"if {test}:\n    pl.Trainer.add_argparse_args(parser)\n")
    assert ("pytorch_lightning.Trainer.add_argparse_args.with_fallback" in symbols) is expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\ntf.data.Dataset(x)\n", True),
        ("try:\n    from tensorflow import data\nexcept ImportError:\n    data = None\ndata.Dataset(x)\n", True),
        ("try:\n    import tensorflow as tf\nexcept ImportError:\n    pass\ntf.data.Dataset(x)\n", False),
        ("import tensorflow as tf\ntf.data.Dataset(x)\n", False),
    ],
)
def test_a_module_with_another_one_in_its_place(program: str, expected: bool) -> None:
    symbols, caught = used(program)
    assert "tensorflow.data.Dataset" in symbols
    assert ("tensorflow.data.Dataset" in caught) is expected


@pytest.mark.parametrize(("name", "expected"), [("get_last_lr", True), ("get_lr", False)])
def test_a_method_that_an_object_is_asked_for(name: str, expected: bool) -> None:
    program = (
        "from torch.optim.lr_scheduler import ReduceLROnPlateau\nscheduler = ReduceLROnPlateau(optimizer)\n"
        f"if hasattr(scheduler, '{name}'):\n    print(scheduler.get_last_lr())\n"
    )
    symbols, _ = used(program)
    method = "torch.optim.lr_scheduler.ReduceLROnPlateau.get_last_lr"
    assert method in symbols
    assert (f"{method}.with_fallback" in symbols) is expected

"""Programs that are more than one file: which modules of the project are read, and what their names mean."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gradcompat.errors import Unrecognised
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document, read_document
from gradcompat.model.context import Context
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.code import local_modules
from gradcompat.scanners.code.local_modules import Links, Project, follow, project_of
from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.python_code import scan
from gradcompat.scanners.code.syntax import parse
from gradcompat.scanners.configs import trl
from gradcompat.scanners.launches import launch_script
from gradcompat.scanners.run_assembly import join
from gradcompat.terms.comparison import texts

TRAIN = "from transformers import Trainer, TrainingArguments\n"


def scanned(folder: Path, files: Mapping[str, str], name: str = "train.py") -> Context:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return scan(read_document(folder / name, name, root_of_folder(folder, ".")))


def told(context: Context) -> dict[str, list[tuple[str, int | None, SettingValue | None]]]:
    found: dict[str, list[tuple[str, int | None, SettingValue | None]]] = {}
    for one in context.settings:
        if one.key not in ("code.symbols", "code.calls"):
            found.setdefault(one.key, []).append((one.location.path, one.location.line, one.value))
    return found


def symbols(context: Context) -> tuple[set[str], bool]:
    """The symbols, and whether there may be others."""
    values = [one.value for one in context.settings if one.key == "code.symbols"]
    return {name for value in values if isinstance(value, tuple) for name in value}, None in values


def test_a_module_beside_the_program_is_read_with_it(tmp_path: Path) -> None:
    context = scanned(
        tmp_path,
        {
            "train.py": "from helper import load, arguments\nfrom transformers import Trainer\n"
            "Trainer(model=load(), args=arguments()).train()\n",
            "helper.py": "import torch\nfrom transformers import TrainingArguments\n"
            "def load():\n    return torch.load('x')\n"
            "def arguments():\n    return TrainingArguments('out', gradient_accumulation_steps=8)\n"
            "def other():\n    return TrainingArguments('out', gradient_accumulation_steps=1)\n"
            "if __name__ == '__main__':\n    torch.nn.functional.rrelu(other())\n",
        },
    )
    assert context.run
    assert told(context)["training.gradient_accumulation_steps"] == [("helper.py", 6, 8)]
    assert symbols(context) == (
        {"transformers.Trainer", "transformers.Trainer.train", "transformers.TrainingArguments", "torch.load"},
        False,
    )
    assert context.skipped == ()


@pytest.mark.parametrize("package", ["", "pipeline/__init__.py"])
@pytest.mark.parametrize("does", ["", "print('starts')\n"])
def test_a_program_whose_modules_alone_import_a_library(tmp_path: Path, package: str, does: str) -> None:
    module = package.replace("__init__", "steps") or "steps.py"
    files = {
        "train.py": f"from {module.removesuffix('.py').replace('/', '.')} import fit\n{does}def main():\n    fit()\n",
        package or "other.py": "",
        module: f"{TRAIN}def fit():\n    Trainer(args=TrainingArguments('out')).train()\n",
    }
    if does:
        files["train.py"] += "main()\n"
        assert scanned(tmp_path, files).run
    without = {**files, module: "def fit():\n    print(1)\n"}
    with pytest.raises(Unrecognised, match="imports no library for training"):
        scanned(tmp_path / "without", without)


def test_a_test_without_a_library_is_none_of_a_run(tmp_path: Path) -> None:
    files = {
        "test_steps.py": "import steps\n\ndef test_it():\n    steps.fit()\n",
        "steps.py": f"{TRAIN}def fit():\n    Trainer(args=TrainingArguments('out')).train()\n",
    }
    with pytest.raises(Unrecognised, match="imports no library for training"):
        scanned(tmp_path, files, "test_steps.py")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("helper.py", "from helper import STEPS"),
        ("helper.py", "from helper import *"),
        ("pkg/helper.py", "from pkg.helper import STEPS"),
        ("src/pkg/helper.py", "from pkg.helper import STEPS"),
        ("pkg/helper/__init__.py", "from pkg.helper import STEPS"),
        ("helper.py", "from .helper import STEPS"),
    ],
)
def test_a_literal_of_another_module(tmp_path: Path, path: str, line: str) -> None:
    program = f"{line}\n{TRAIN}Trainer(None, TrainingArguments('out', gradient_accumulation_steps=STEPS)).train()\n"
    context = scanned(tmp_path, {path: "STEPS = 8\n", "train.py": program})
    assert told(context)["training.gradient_accumulation_steps"] == [("train.py", 3, 8)]
    assert symbols(context)[1] is False


def test_an_attribute_of_another_module_and_what_it_passes_on(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "from .values import *\nfrom .trainers import Trainer\n",
        "pkg/values.py": "STEPS = 8\n",
        "pkg/trainers.py": "from trl import SFTTrainer as Trainer\n",
        "train.py": "import pkg\nfrom transformers import TrainingArguments\n"
        "pkg.Trainer(args=TrainingArguments('out', gradient_accumulation_steps=pkg.STEPS)).train()\n",
    }
    context = scanned(tmp_path, files)
    assert told(context)["training.gradient_accumulation_steps"] == [("train.py", 3, 8)]
    assert told(context)["training.method"] == [("train.py", 3, "sft")]
    assert "trl.SFTTrainer" in symbols(context)[0]


def test_a_trainer_of_the_projects_own_is_what_it_derives_from(tmp_path: Path) -> None:
    files = {
        "sft.py": "from trl import SFTTrainer\nclass Base(SFTTrainer):\n    pass\nclass MyTrainer(Base):\n    pass\n",
        "run_sft.py": "from sft import MyTrainer\n\ndef main():\n    MyTrainer('m').train()\n\n"
        "if __name__ == '__main__':\n    main()\n",
        "evaluate.py": "from sft import MyTrainer\nMyTrainer('m').evaluate()\n",
    }
    context = scanned(tmp_path, files, "run_sft.py")
    assert context.run
    assert told(context)["training.framework"] == [("run_sft.py", 4, "trl")]
    assert told(context)["training.method"] == [("run_sft.py", 4, "sft")]
    assert context.modules == ("sft.py",)
    module = scanned(tmp_path, {}, "sft.py")
    assert not module.run
    assert [one.source for one in join([module, context])] == ["run_sft.py"]
    assert not scanned(tmp_path, {}, "evaluate.py").run


@pytest.mark.parametrize("name", ["logging", "peft"])
def test_a_sibling_with_the_name_of_a_package_is_not_imported(tmp_path: Path, name: str) -> None:
    files = {
        f"{name}.py": "from torch.nn.functional import rrelu\nrrelu(1)\n",
        "train.py": f"import {name}\n{TRAIN}Trainer().train()\nTrainingArguments('out')\n{name}.LoraConfig()\n",
    }
    context = scanned(tmp_path, files)
    found, is_open = symbols(context)
    assert "torch.nn.functional.rrelu" not in found
    assert (f"{name}.LoraConfig" in found, is_open, context.modules) == (True, False, ())


def test_a_sibling_with_the_name_of_a_requirement_is_not_imported(tmp_path: Path) -> None:
    files = {
        "requirements.txt": "wandb==0.17.0\n",
        "wandb.py": "from torch.nn.functional import rrelu\nrrelu(1)\n",
        "train.py": f"import wandb\n{TRAIN}Trainer(TrainingArguments('out')).train()\n",
    }
    assert "torch.nn.functional.rrelu" not in symbols(scanned(tmp_path, files))[0]
    relative = scanned(tmp_path, {"train.py": f"from . import wandb\n{TRAIN}Trainer().train()\n"})
    assert "torch.nn.functional.rrelu" in symbols(relative)[0]


def test_a_package_beside_the_program_hides_the_library_of_its_name(tmp_path: Path) -> None:
    files = {
        "requirements.txt": "datasets==4.2.0\n",
        "datasets/__init__.py": "from .coco import Coco\n",
        "datasets/coco.py": "from torch.nn.functional import rrelu\nclass Coco:\n    noise = rrelu\n",
        "train.py": f"from datasets import Coco\n{TRAIN}Coco()\nTrainer(TrainingArguments('out')).train()\n",
    }
    found, _ = symbols(scanned(tmp_path, files))
    assert ("torch.nn.functional.rrelu" in found, "datasets.Coco" in found) == (True, False)
    part = scanned(tmp_path, {**files, "__init__.py": ""})  # as python -m project.train runs it
    assert "datasets.Coco" in symbols(part)[0]


def test_the_projects_own_package_may_have_the_name_of_a_library(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[project]\nname = "llamafactory"\n',
        "src/llamafactory/__init__.py": "",
        "src/llamafactory/tuner.py": "import torch\ndef run():\n    torch.load('x')\n",
        "src/train.py": f"from llamafactory.tuner import run\n{TRAIN}run()\nTrainer().train()\n",
    }
    assert "torch.load" in symbols(scanned(tmp_path, files, "src/train.py"))[0]


def test_what_is_not_read_is_named_and_leaves_the_symbols_open(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (tmp_path / "outside.py").write_text("import torch\n")
    files = {
        "train.py": f"from .gone import x\nimport broken, deep\n{TRAIN}Trainer(TrainingArguments('out')).train()\n",
        "broken.py": "import torch\nthis is no Python\n",
        "deep.py": "from ..outside import y\nimport importlib\nimportlib.import_module(y)\n",
    }
    context = scanned(folder, files)
    assert symbols(context)[1]
    assert [(str(one.location), one.what, one.reason.partition(":")[0]) for one in context.skipped] == [
        ("train.py:1", ".gone", "is part of this project, and is not found in it"),
        ("train.py:2", "broken", "is part of this project and cannot be read"),
        ("deep.py:1", "..outside", "is part of this project, and is not found in it"),
        ("deep.py:3", "import_module", "a module is imported by a name that is computed"),
    ]


def test_modules_that_import_one_another_in_a_circle(tmp_path: Path) -> None:
    files = {
        "a.py": "from b import *\nfrom b import Thing\nX = Y\nclass Other(Thing): pass\n",
        "b.py": "from a import *\nfrom a import Other\nY = X\nclass Thing(Other): pass\n",
        "train.py": f"from a import *\nfrom b import *\n{TRAIN}"
        "Other(Trainer(None, TrainingArguments('out', gradient_accumulation_steps=X))).train()\n",
    }
    context = scanned(tmp_path, files)
    assert context.run
    assert told(context)["training.gradient_accumulation_steps"] == [("train.py", 4, None)]


def test_a_name_is_looked_for_once_in_modules_that_take_everything_of_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Along every path through their imports it would be thousands of times."""
    found: list[str] = []

    def find(modules: Links, name: str) -> tuple[Names, str] | None:
        found.append(name)
        return original(modules, name)

    original = Links.find
    monkeypatch.setattr(Links, "find", find)
    names = [f"m{number}" for number in range(5)]
    stars = "".join(f"from {name} import *\n" for name in names)
    files = {f"{name}.py": f"{stars}X{name} = 1\n" for name in names}
    context = scanned(
        tmp_path,
        {
            **files,
            "m4.py": f"{stars}from accelerate import Accelerator\n",
            "train.py": ("from m0 import *\nprint(unknown)\nprint(m0.other)\nAccelerator().backward(unknown.loss)\n"),
        },
    )
    assert "accelerate.Accelerator.backward" in symbols(context)[0]
    assert len(found) < 500


def test_modules_that_are_not_there_lead_to_no_longer_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout may lack a folder: `pkg.tasks` then leads to pkg, and from there to `pkg.tasks.tasks`, and so on."""
    found: set[str] = set()

    def find(project: Project, name: str, importer: str) -> tuple[str, str] | None:
        found.add(name)
        return original(project, name, importer)

    original = Project.find
    monkeypatch.setattr(Project, "find", find)
    stars = "".join(f"from pkg.{name} import *\nfrom pkg.{name} import {name}\n" for name in ("tasks", "models"))
    program = "from pkg import Runner\nfrom accelerate import Accelerator\nRunner(Accelerator()).fit()\n"
    scanned(tmp_path, {"pkg/__init__.py": f"{stars}class Runner(tasks.Base):\n    pass\n", "train.py": program})
    assert max(name.count(".") for name in found) <= 5


def test_tests_are_no_runs(tmp_path: Path) -> None:
    body = f"{TRAIN}def test_it():\n    Trainer(args=TrainingArguments('out')).train()\n"
    assert not scanned(tmp_path, {"test_it.py": body}, "test_it.py").run
    assert not scanned(tmp_path, {"check.py": f"import pytest\n{body}"}, "check.py").run
    assert scanned(tmp_path, {"test_run.py": body.replace("test_it", "main")}, "test_run.py").run


ARGUMENTS = """\
from dataclasses import dataclass, field
from transformers import TrainingArguments
@dataclass
class Base(TrainingArguments):
    gradient_accumulation_steps: int = field(default=8)
    seed: int = 3
@dataclass
class MyArguments(Base):
    seed: int = 5
"""
PARSED = """\
from transformers import HfArgumentParser, Trainer
from arguments import MyArguments
(args,) = HfArgumentParser((MyArguments,)).parse_args_into_dataclasses()
Trainer("m", args).train()
"""


@pytest.mark.parametrize(
    "package",
    [
        "from .train import train\n",
        "import lazy_loader as lazy\n"
        "__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={'train': ['train']})\n",
    ],
    ids=["imported", "attached when somebody asks"],
)
def test_a_function_that_its_package_puts_before_the_module_of_its_name(tmp_path: Path, package: str) -> None:
    context = scanned(
        tmp_path,
        {
            "pyproject.toml": "[project]\nname = 'cells'\n",
            "src/cells/__init__.py": package,
            "src/cells/train.py": f"{TRAIN}def train(file):\n"
            "    Trainer(args=TrainingArguments('out', seed=7)).train()\n",
            "train.py": "from cells import train\ntrain(__file__)\n",
        },
    )
    assert context.run
    assert told(context)["training.seed"] == [("src/cells/train.py", 3, 7)]


def test_a_dataclass_of_arguments_that_stands_in_another_module(tmp_path: Path) -> None:
    context = scanned(tmp_path, {"train.py": PARSED, "arguments.py": ARGUMENTS})
    (run,) = join([context])
    found = told(run)
    assert found["training.gradient_accumulation_steps"] == [("arguments.py", 5, 8)]
    assert found["training.seed"] == [("arguments.py", 9, 5)]
    script = launch_script.scan(Document("run.sh", "python train.py --gradient_accumulation_steps 4\n"))
    (run,) = join([context, script])
    assert told(run)["training.gradient_accumulation_steps"] == [("run.sh", 1, 4)]


def test_a_config_that_the_launch_names_takes_the_place_of_a_default(tmp_path: Path) -> None:
    context = scanned(tmp_path, {"train.py": PARSED, "arguments.py": ARGUMENTS})
    script = launch_script.scan(Document("run.sh", "python train.py train.yaml\n"))
    text = "model_name_or_path: a/b\noutput_dir: out\nlearning_rate: 1.0\ngradient_accumulation_steps: 2\n"
    (run,) = join([context, script, trl.scan(Document("train.yaml", text))])
    assert told(run)["training.gradient_accumulation_steps"] == [("train.yaml", 4, 2)]


@pytest.mark.parametrize("module", ["arguments", "config.arguments"])
def test_a_parser_of_the_project_and_its_classes_in_a_package(tmp_path: Path, module: str) -> None:
    parser = "from transformers import HfArgumentParser\nclass Parser(HfArgumentParser):\n    pass\n"
    program = PARSED.replace("from arguments", f"from {module}").replace("HfArgumentParser", "Parser")
    program = program.replace("import Parser, Trainer", "import Trainer\nfrom parser_of import Parser")
    files = {"train.py": program, "parser_of.py": parser, f"{module.replace('.', '/')}.py": ARGUMENTS}
    (run,) = join([scanned(tmp_path, files)])
    place = f"{module.replace('.', '/')}.py"
    assert told(run)["training.gradient_accumulation_steps"] == [(place, 5, 8)]


def _circle(folder: Path, count: int) -> list[Path]:
    """Programs each of which imports all of them."""
    files = [folder / f"m{number}.py" for number in range(count)]
    imports = "".join(f"import {file.stem}\nfrom {file.stem} import *\n" for file in files)
    for file in files:
        file.write_text(f"from transformers import Trainer\n{imports}Trainer().train()\n")
    return files


def test_programs_that_import_one_another_are_followed_within_the_steps_of_their_root(tmp_path: Path) -> None:
    root, shared = root_of_folder(tmp_path, "."), dict[str, object]()
    files = _circle(tmp_path, 40)
    found = [scan(replace(read_document(file, file.name, root), shared=shared)) for file in files]
    unread = [[part.reason for part in context.skipped if "too often" in part.reason] for context in found]
    assert unread[0] == []
    assert len(unread[-1]) == 1
    assert symbols(found[-1])[1]  # there may be others


GUARDED = """
import torch, transformers
from transformers import Trainer, TrainingArguments
try:
    import flash_attn
except ImportError:
    flash_attn = None
transformers.AdamW = torch.optim.AdamW
def old():
    return torch.load("x")
if torch.__version__ < "2.0":
    old()
"""


@pytest.mark.parametrize(
    "last", ["", "if __name__ == '__main__':\n    Trainer(args=TrainingArguments('out')).train()\n"]
)
def test_a_module_that_was_imported_says_the_same_when_it_is_scanned_itself(tmp_path: Path, last: str) -> None:
    (tmp_path / "helper.py").write_text(f"{GUARDED}{last}")
    (tmp_path / "train.py").write_text(f"import helper\n{TRAIN}helper.old()\nTrainer().train()\n")
    root, shared = root_of_folder(tmp_path, "."), dict[str, object]()
    alone = scan(replace(read_document(tmp_path / "helper.py", "helper.py", root), shared={}))
    scan(replace(read_document(tmp_path / "train.py", "train.py", root), shared=shared))
    assert scan(replace(read_document(tmp_path / "helper.py", "helper.py", root), shared=shared)) == alone
    assert any(setting.where for setting in alone.settings)
    assert alone.run is bool(last)


def test_what_a_module_imports_is_no_part_of_its_own(tmp_path: Path) -> None:
    lines = "".join(f"import json as name{number}\n" for number in range(500))
    (tmp_path / "helper.py").write_text(f"{lines}from transformers import TrainingArguments\n")
    (tmp_path / "train.py").write_text(f"import helper\n{TRAIN}Trainer().train()\n")
    document = read_document(tmp_path / "train.py", "train.py", root_of_folder(tmp_path, "."))
    placed = project_of(document)
    assert placed is not None
    names = Names(parse(document.text, "train.py"), Links(*placed))
    (module,) = follow(document, names, *placed).modules
    assert module.statements == ()


LOOP = """
import torch
from parts.net import Net

def main():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        net(x).sub(y).square().mean().backward()
        optimizer.step()

"""


@pytest.mark.parametrize(
    ("module", "stated"),
    [
        ("def forward(self, x):\n        return x", [False]),
        ("def forward(self, x):\n        return torch.utils.checkpoint.checkpoint(self.layer, x)", [True]),
        ("def __init__(self):\n        self.body = swin(use_checkpoint=True)", []),
    ],
)
def test_a_loop_none_of_whose_modules_recomputes_activations(tmp_path: Path, module: str, stated: list[bool]) -> None:
    net = f"import torch\nimport torch.utils.checkpoint\nclass Net(torch.nn.Module):\n    {module}\n"
    net = net if "checkpoint.checkpoint" in module else net.replace("import torch.utils.checkpoint\n", "")
    program = f"{LOOP}if __name__ == '__main__':\n    main()\n"
    context = scanned(tmp_path, {"train.py": program, "parts/__init__.py": "", "parts/net.py": net})
    assert [value for _, _, value in told(context).get("training.gradient_checkpointing", [])] == stated


def test_a_module_that_is_not_there_may_recompute(tmp_path: Path) -> None:
    context = scanned(tmp_path, {"train.py": f"from . import gone\n{LOOP}main()\n", "parts/net.py": "Net = None\n"})
    assert "training.gradient_checkpointing" not in told(context)


@pytest.mark.parametrize("guard", ["__name__ == '__main__'", "'__main__' == __name__"])
def test_either_way_of_asking_for_the_program(tmp_path: Path, guard: str) -> None:
    files = {
        "train.py": f"import torch\nfrom loop import fit\nif {guard}:\n    fit(torch.nn.Linear(2, 2))\n",
        "loop.py": "import torch\ndef fit(net):\n    torch.optim.SGD(net.parameters()).step()\n    net(x).backward()\n",
    }
    context = scanned(tmp_path, files)
    assert context.run
    assert context.modules == ("loop.py",)


def test_many_modules_with_augmentations_are_read_in_time(tmp_path: Path) -> None:
    names = [f"a{one}" for one in range(60)]
    made = "import albumentations as A\n" + "".join(f"{name} = A.Compose([A.Flip()])\n" for name in names)
    files = {f"data/part{one}.py": made for one in range(60)}
    imports = "".join(f"from data.part{one} import {', '.join(names)}\n" for one in range(60))
    used = f"torch.optim.SGD(p).step()\nloss.backward()\nprint({', '.join(names)})\n"
    started = time.process_time()
    context = scanned(tmp_path, {"train.py": f"import torch\n{imports}{used}", "data/__init__.py": "", **files})
    assert "albumentations.Compose.copied" in symbols(context)[0]
    assert time.process_time() - started < 20  # it was minutes, as each statement looked through all others


@pytest.mark.parametrize(
    ("around", "used"),
    [
        ("if __name__ == '__main__':\n    train()\n", False),
        ("if __name__ == '__main__':\n    options()\n    train()\n", True),
        ("def both():\n    options()\nif __name__ == '__main__':\n    train()\n", False),
        ("def both():\n    options()\nif __name__ == '__main__':\n    both()\n    train()\n", True),
        ("build = {'how': 'train.options'}\nif __name__ == '__main__':\n    train()\n", True),
        ("import fire\nif __name__ == '__main__':\n    fire.Fire()\n    train()\n", True),
        ("if __name__ == '__main__':\n    globals()[name]()\n    train()\n", True),
        ("train()\n", True),
    ],
)
def test_a_function_that_nothing_in_a_program_names_is_not_run(around: str, used: bool) -> None:
    program = (
        "import pytorch_lightning as pl\ndef options():\n    return pl.Trainer.add_argparse_args(parser)\n"
        f"def train():\n    pl.Trainer(max_epochs=1).fit(model)\n{around}"
    )
    context = scan(Document("train.py", program))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert ("pytorch_lightning.Trainer.add_argparse_args" in symbols) is used


MAKES = "from transformers import TrainingArguments\n"
STEPS = "training.gradient_accumulation_steps"


@pytest.mark.parametrize(
    ("program", "module", "value"),
    [
        ("make(8)", "def make(steps):\n    return TrainingArguments('out', gradient_accumulation_steps=steps)\n", 8),
        ("make(steps=8)", "def make(*, steps):\n    TrainingArguments('out', gradient_accumulation_steps=steps)\n", 8),
        ("make()", "def make(steps=8):\n    return TrainingArguments('out', gradient_accumulation_steps=steps)\n", 8),
        (
            "make(2 * 4)",
            "def make(n):\n    inner(n)\n"
            "def inner(steps):\n    return TrainingArguments('out', gradient_accumulation_steps=steps)\n",
            8,
        ),
        (
            "make(8)",
            "class make:\n    def __init__(self, n):\n        self.n = n\n"
            "    def run(self):\n        TrainingArguments('out', gradient_accumulation_steps=self.n)\n",
            8,
        ),
        (
            "make({'steps': 8})",
            "def make(config):\n    TrainingArguments('out', gradient_accumulation_steps=config['steps'])\n",
            8,
        ),
        # Two calls, a second name, a decorator and a function that is handed on leave it open.
        (
            "make(8)\nmake(8)",
            "def make(steps):\n    print(steps)\n"
            "    return TrainingArguments('out', gradient_accumulation_steps=steps)\n",
            None,
        ),
        (
            "make(8)\nfrom lib.build import make as other\nother(1)",
            "def make(steps):\n    print(steps)\n"
            "    return TrainingArguments('out', gradient_accumulation_steps=steps)\n",
            None,
        ),
        (
            "make(8)",
            "@cached\ndef make(steps):\n    return TrainingArguments('out', gradient_accumulation_steps=steps)\n",
            None,
        ),
        (
            "make(8)\nsweep(make)",
            "def make(steps):\n    print(steps)\n"
            "    return TrainingArguments('out', gradient_accumulation_steps=steps)\n",
            None,
        ),
        (
            "make(8)",
            "def make(n):\n    inner(n)\n    inner(1)\n"
            "def inner(steps):\n    return TrainingArguments('out', gradient_accumulation_steps=steps)\n",
            None,
        ),
    ],
)
def test_what_the_one_call_gives_is_followed_into_a_module(
    tmp_path: Path, program: str, module: str, value: SettingValue | None
) -> None:
    context = scanned(
        tmp_path,
        {
            "train.py": f"from lib.build import make\n{TRAIN}{program}\nTrainer(model).train()\n",
            "lib/build.py": MAKES + module,
        },
    )
    assert [one[2] for one in told(context)[STEPS]] == [value]


def test_each_program_hands_a_module_its_own_values(tmp_path: Path) -> None:
    module = (
        "def make(steps):\n    print(steps)\n    return TrainingArguments('out', gradient_accumulation_steps=steps)\n"
    )
    program = "from build import make\nfrom transformers import Trainer\nTrainer(model, make({})).train()\n"
    files = {"one.py": program.format(8), "two.py": program.format(2), "build.py": MAKES + module}
    one = scanned(tmp_path, files, "one.py")
    shared: dict[str, object] = {}
    values = []
    for name in ("one.py", "two.py", "one.py"):
        document = replace(read_document(tmp_path / name, name, root_of_folder(tmp_path, ".")), shared=shared)
        values.append(told(scan(document))[STEPS])
    assert values == [[("build.py", 4, 8)], [("build.py", 4, 2)], [("build.py", 4, 8)]]
    assert told(one)[STEPS] == values[0]


def test_what_many_programs_hand_to_a_module_comes_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_modules, "HANDED", 4)
    module = (
        "def make(steps):\n    print(steps)\n    return TrainingArguments('out', gradient_accumulation_steps=steps)\n"
    )
    program = "from build import make\nfrom transformers import Trainer\nTrainer(model, make(8)).train()\n"
    for name, text in {"one.py": program, "two.py": program, "build.py": MAKES + module}.items():
        (tmp_path / name).write_text(text)
    shared: dict[str, object] = {}
    documents = (read_document(tmp_path / name, name, root_of_folder(tmp_path, ".")) for name in ("one.py", "two.py"))
    values = [told(scan(replace(document, shared=shared)))[STEPS][0][2] for document in documents]
    assert values == [8, None]

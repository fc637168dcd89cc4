"""Values that a program keeps in mappings, in classes and their objects, and in parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.code import python_code

KEY = "training.gradient_accumulation_steps"
HEAD = "from transformers import TrainingArguments\n"
USE = "TrainingArguments('out', gradient_accumulation_steps={})\n"


def steps(program: str) -> tuple[SettingValue | None, int | None, str | None]:
    """The value, the line that it stands in, and how it is written there."""
    settings = python_code.scan(Document("train.py", HEAD + program)).settings
    (found,) = [one for one in settings if one.key == KEY]
    return found.value, found.location.line, found.spelling


def values(folder: Path, name: str) -> list[SettingValue | None]:
    """What a program in a folder with others says."""
    settings = python_code.scan(read_document(folder / name, name, root_of_folder(folder, "."))).settings
    return [one.value for one in settings if one.key == KEY]


@pytest.mark.parametrize(
    ("program", "line", "spelling"),
    [
        ("config = {'steps': 8}\n" + USE.format("config['steps']"), 2, '"steps": {}'),
        ("config = {'steps': 8}\n" + USE.format("config.get('steps', 1)"), 2, '"steps": {}'),
        ("config = dict(steps=8)\n" + USE.format("config['steps']"), 2, "steps={}"),
        ("config = {'train': {'steps': 8}}\n" + USE.format("config['train']['steps']"), 2, '"steps": {}'),
        (
            "def more(c):\n    for key in keys:\n        c[key] = 4\nconfig = {'steps': 8}\nmore(x)\n"
            + USE.format("config['steps']"),
            5,
            '"steps": {}',
        ),
        ("N = 8\nconfig = {'steps': N}\n" + USE.format("config['steps']"), 2, "N = {}"),
        ("class CFG:\n    steps = 8\n" + USE.format("CFG.steps"), 3, "steps = {}"),
        ("class CFG:\n    steps: int = 8\nconfig = CFG()\n" + USE.format("config.steps"), 3, "steps = {}"),
        ("class CFG:\n    steps = 2\nconfig = CFG(steps=8)\n" + USE.format("config.steps"), 4, "steps={}"),
        ("class A:\n    steps = 8\nclass B(A):\n    lr = 1\nc = B()\n" + USE.format("c.steps"), 3, "steps = {}"),
        (
            "from dataclasses import dataclass, field\n@dataclass\nclass CFG:\n    steps: int = field(default=8)\n"
            "config = CFG()\n" + USE.format("config.steps"),
            5,
            "steps = {}",
        ),
        (
            "class CFG:\n    def __init__(self):\n        self.steps = 8\nconfig = CFG()\n"
            + USE.format("config.steps"),
            4,
            "self.steps = {}",
        ),
        (
            "class CFG:\n    def __init__(self, lr, steps=2):\n        self.steps = steps\nconfig = CFG(1, 8)\n"
            + USE.format("config.steps"),
            5,
            None,
        ),
        (
            "from types import SimpleNamespace\nconfig = SimpleNamespace(steps=8)\n" + USE.format("config.steps"),
            3,
            "steps={}",
        ),
        (
            "from omegaconf import OmegaConf\nconfig = OmegaConf.create({'train': {'steps': 8}})\n"
            + USE.format("config.train.steps"),
            3,
            '"steps": {}',
        ),
        ("def train(steps):\n    " + USE.format("steps") + "train(8)\n", 4, None),
        ("config = {'a': 8}\nkey = 'a'\n" + USE.format("config[key]"), 2, '"a": {}'),
        (
            "class Run:\n    def __init__(self):\n        self.steps = 8\n    def train(self):\n        "
            + USE.format("self.steps"),
            4,
            "self.steps = {}",
        ),
        (
            "class CFG:\n    steps = 8\nclass Run:\n    def __init__(self, config):\n        self.config = config\n"
            "    def train(self):\n        " + USE.format("self.config.steps") + "Run(CFG()).train()\n",
            3,
            "steps = {}",
        ),
        ("def train(steps=8):\n    " + USE.format("steps") + "train()\n", 2, "steps={}"),
        ("def train(*, steps):\n    " + USE.format("steps") + "train(steps=8)\n", 4, "steps={}"),
        ("def train(c):\n    " + USE.format("c['steps']") + "config = {'steps': 8}\ntrain(config)\n", 4, '"steps": {}'),
        ("def config():\n    return {'steps': 8}\nc = config()\n" + USE.format("c['steps']"), 3, '"steps": {}'),
        (
            "from accelerate import notebook_launcher\ndef train(lr, steps):\n    "
            + USE.format("steps")
            + "args = (1, 8)\nnotebook_launcher(train, args, num_processes=2)\n",
            5,
            None,
        ),
    ],
)
def test_a_value_is_followed_to_where_it_stands(program: str, line: int, spelling: str | None) -> None:
    assert steps(program) == (8, line, spelling)


@pytest.mark.parametrize(
    "program",
    [
        "config = {'steps': 8}\nconfig['steps'] = 4\n" + USE.format("config['steps']"),
        "config = {'steps': 8}\nfor key in keys:\n    config[key] = 4\n" + USE.format("config['steps']"),
        "config = {'steps': 8}\nconfig.update(read())\n" + USE.format("config['steps']"),
        "def more(c):\n    for key in keys:\n        c[key] = 4\nconfig = {'steps': 8}\nmore(config)\n"
        + USE.format("config['steps']"),
        "def more(c):\n    c.update(read())\nconfig = {'steps': 8}\nmore(c=config)\n" + USE.format("config['steps']"),
        "config = {'steps': 8}\nconfig = read()\n" + USE.format("config['steps']"),
        "config = {'steps': 8, **read()}\n" + USE.format("config['steps']"),
        "config = {'t': {'steps': 8}}\nother = config['t']\nother['steps'] = 4\n" + USE.format("config['t']['steps']"),
        "from utils import update_config\nconfig = {'steps': 8}\nupdate_config(config, args)\n"
        + USE.format("config['steps']"),
        "from utils import parse\nclass CFG:\n    steps = 8\nc = CFG()\nparse(into=c)\n" + USE.format("c.steps"),
        "class CFG:\n    steps = 8\nCFG.steps = 4\n" + USE.format("CFG.steps"),
        "class CFG:\n    steps = 8\n    def more(self):\n        self.steps = 4\nc = CFG()\n" + USE.format("c.steps"),
        "class CFG:\n    steps = 8\nfor name in names:\n    setattr(CFG, name, 4)\n" + USE.format("CFG.steps"),
        "class CFG:\n    if large:\n        steps = 8\n    else:\n        steps = 8 + x\n" + USE.format("CFG.steps"),
        "class CFG:\n    @property\n    def steps(self):\n        return 8\nc = CFG()\n" + USE.format("c.steps"),
        "from pydantic_settings import BaseSettings\nclass CFG(BaseSettings):\n    steps: int = 8\nc = CFG()\n"
        + USE.format("c.steps"),
        "from pydantic_settings import BaseSettings\nclass CFG(BaseSettings):\n    lr: int = 8\nc = CFG()\n"
        + USE.format("c.steps"),
        "class CFG:\n    steps = 8\nc = CFG(**read())\n" + USE.format("c.steps"),
        "class CFG:\n    def __init__(self):\n        if large:\n            self.steps = 8\nc = CFG()\n"
        + USE.format("c.steps"),
        "def train(steps):\n    " + USE.format("steps") + "train(8)\ntrain(4)\n",
        "def train(steps=8):\n    " + USE.format("steps") + "train(*read())\n",
        "def train(steps=8):\n    " + USE.format("steps") + "train()\npool.map(train, names)\n",
        "def train(steps=8):\n    " + USE.format("steps") + "pool.map(train, names)\n",
        "@command\ndef train(steps=8):\n    " + USE.format("steps") + "train()\n",
        "def train(steps):\n    steps += 1\n    " + USE.format("steps") + "train(8)\n",
        "def train(steps):\n    " + USE.format("steps") + "for n in (4, 8):\n    train(n)\n",
        "def config():\n    if large:\n        return {'steps': 4}\n    return {'steps': 8}\nc = config()\n"
        + USE.format("c['steps']"),
        "def train(steps):\n    " + USE.format("steps") + "    train(steps)\n",
        "config = {'a': 8}\n" + USE.format("config[key]"),
        "class Run:\n    def __init__(self):\n        self.steps = 8\n    def more(self):\n        self.steps *= 2\n"
        "    def train(self):\n        " + USE.format("self.steps"),
        "class CFG:\n    steps = 8\nclass Run:\n    def __init__(self, config):\n        self.config = config\n"
        "    def train(self):\n        " + USE.format("self.config.steps") + "Run(CFG())\nRun(other)\n",
    ],
)
def test_what_may_be_set_elsewhere_is_not_followed(program: str) -> None:
    assert steps(program)[0] is None


GIVEN = "TrainingArguments('out', **{})\n"


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("first = {'seed': 1}\nsecond = {'gradient_accumulation_steps': 8}\n" + GIVEN.format("{**first, **second}"), 3),
        ("first = {'seed': 1}\n" + GIVEN.format("(first | {'gradient_accumulation_steps': 8})"), 3),
        ("first = {'seed': 1}\n" + GIVEN.format("dict(first, gradient_accumulation_steps=8)"), 3),
        ("config = {'train': {'gradient_accumulation_steps': 8}}\n" + GIVEN.format("config['train']"), 2),
        (
            "def train(config):\n    " + GIVEN.format("config") + "train({'gradient_accumulation_steps': 8})\n",
            4,
        ),
        (
            "from dataclasses import asdict, dataclass\n@dataclass\nclass CFG:\n"
            "    gradient_accumulation_steps: int = 8\nconfig = CFG()\n" + GIVEN.format("asdict(config)"),
            5,
        ),
    ],
)
def test_the_keys_of_a_mapping_are_arguments(program: str, line: int) -> None:
    assert steps(program)[:2] == (8, line)


@pytest.mark.parametrize(
    "program",
    [
        "config = {'train': {'gradient_accumulation_steps': 8}}\n"
        "config['train']['gradient_accumulation_steps'] = x\n" + GIVEN.format("config['train']"),
        "config = {**read(), 'gradient_accumulation_steps': 8}\n" + GIVEN.format("config"),
        "def train(config):\n    " + GIVEN.format("config") + "train(read())\n",
    ],
)
def test_a_mapping_that_is_not_written_out_says_nothing(program: str) -> None:
    settings = python_code.scan(Document("train.py", HEAD + program))
    assert [one for one in settings.settings if one.key == KEY and not one.presumed] == []
    assert "put together elsewhere" in str(settings.skipped)


@pytest.mark.parametrize(
    "program",
    [
        "from torch import optim\nOPT = {'adamw': optim.AdamW}\nOPT['adamw'](p, fused=True)\n",
        "import torch\nname = 'AdamW'\ngetattr(torch.optim, name)(p, fused=True)\n",
        "import torch\ncls = getattr(torch.optim, 'AdamW')\ncls(p, fused=True)\n",
        "import torch\ndef kind():\n    return torch.optim.AdamW\ncls = kind()\ncls(p, fused=True)\n",
    ],
)
def test_a_class_that_is_chosen_by_name_is_known(program: str) -> None:
    settings = python_code.scan(Document("train.py", program)).settings
    found = {one.key: one.value for one in settings}
    assert (found["optimizer.name"], found["optimizer.fused"]) == ("adamw_torch", True)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("", [True]),
        ("    text += '\\n'\n", []),
        ("    text = text + more\n", []),
        ("    text = f'{text}{more}'\n", []),
    ],
)
def test_a_token_that_is_appended_last_ends_a_sample(after: str, expected: list[bool]) -> None:
    program = f"def sample(x):\n    text = x['a']\n    text += tok.eos_token\n{after}    return {{'text': text}}\n"
    settings = python_code.scan(Document("train.py", HEAD + program)).settings
    assert [one.value for one in settings if one.key == "data.ends_with_eos"] == expected


@pytest.mark.parametrize(
    ("module", "program"),
    [
        ("class CFG:\n    steps = 8\n", "from settings import CFG\n" + USE.format("CFG.steps")),
        ("class CFG:\n    steps = 8\n", "import settings\n" + USE.format("settings.CFG.steps")),
        ("class CFG:\n    steps = 8\ncfg = CFG()\n", "from settings import cfg\n" + USE.format("cfg.steps")),
        ("config = {'steps': 8}\n", "from settings import config\n" + USE.format("config['steps']")),
        (
            "def config():\n    return {'steps': 8}\n",
            "from settings import config\nc = config()\n" + USE.format("c['steps']"),
        ),
    ],
)
def test_a_value_of_another_module_counts(tmp_path: Path, module: str, program: str) -> None:
    (tmp_path / "settings.py").write_text(module, "utf-8")
    (tmp_path / "train.py").write_text(HEAD + program, "utf-8")
    assert values(tmp_path, "train.py") == [8]
    (tmp_path / "settings.py").write_text(module + "CFG.steps = config['steps'] = config.steps = x\n", "utf-8")
    assert values(tmp_path, "train.py") == [None]


@pytest.mark.parametrize("first", ["train.py", "module.py"])
def test_a_function_of_a_module_is_given_what_the_program_that_imports_it_gives(tmp_path: Path, first: str) -> None:
    """Its own call is of no account there: it stands where the module is run itself."""
    module = (
        "def train(steps):\n    own = steps\n    " + USE.format("own") + "if __name__ == '__main__':\n    train(8)\n"
    )
    (tmp_path / "module.py").write_text(HEAD + module, "utf-8")
    (tmp_path / "train.py").write_text("from module import train\ntrain(4)\n", "utf-8")
    expected = {"train.py": [4], "module.py": [8]}
    shared: dict[str, object] = {}
    for name in sorted(expected, key=lambda one: one != first):
        document = replace(read_document(tmp_path / name, name, root_of_folder(tmp_path, ".")), shared=shared)
        found = [one.value for one in python_code.scan(document).settings if one.key == KEY]
        assert found == expected[name]


def test_a_branch_that_a_class_of_settings_decides_is_decided() -> None:
    program = "class CFG:\n    large = False\nif CFG.large:\n    " + USE.format("4") + "else:\n    " + USE.format("8")
    assert steps(program)[0] == 8


@pytest.mark.parametrize(
    ("body", "call", "expected"),
    [
        ("return {'gradient_accumulation_steps': 4}", "make()", 4),
        ("return dict(gradient_accumulation_steps=4)", "make()", 4),
        ("return {'gradient_accumulation_steps': steps}", "make(steps=8)", 8),
        ("return {'gradient_accumulation_steps': steps}", "make(8)", 8),
        ("return {'gradient_accumulation_steps': steps}", "make()", 2),
        ("return {'gradient_accumulation_steps': steps}", "make(n)", None),
        ("return {'gradient_accumulation_steps': 2 * steps}", "make(8)", None),
        ("steps = max(steps, 8)\n    return {'gradient_accumulation_steps': steps}", "make(4)", None),
        ("made = {'gradient_accumulation_steps': 4}\n    return made", "make()", 4),
        ("made = {}\n    made['gradient_accumulation_steps'] = steps\n    return made", "make(8)", 8),
        (
            "made = {'gradient_accumulation_steps': 4}\n    if x:\n        made['seed'] = 1\n    return made",
            "make()",
            4,
        ),
    ],
)
def test_a_mapping_that_a_function_makes(body: str, call: str, expected: int | None) -> None:
    program = f"def make(steps=2):\n    {body}\nprint(make())\nTrainingArguments('out', **{call})\n"
    settings = python_code.scan(Document("train.py", HEAD + program)).settings
    assert [one.value for one in settings if one.key == KEY] == [expected]


@pytest.mark.parametrize(
    "body", ["return {'gradient_accumulation_steps': make()}", "return {**make()}", "return make()", "return {key: 4}"]
)
def test_a_mapping_that_is_not_written_out(body: str) -> None:
    program = f"def make():\n    {body}\nTrainingArguments('out', **make())\n"
    settings = python_code.scan(Document("train.py", HEAD + program)).settings
    assert [one.value for one in settings if one.key == KEY] in ([], [None])


def test_a_key_is_one_of_two() -> None:
    program = (
        "import deepspeed\ndef make(half):\n    kind = 'fp16'\n    if half:\n        kind = 'bf16'\n"
        "    zero = {'stage': 2}\n    return {'zero_optimization': zero, kind: {'enabled': True}}\n"
        "config = make(x)\nconfig['gradient_clipping'] = 1.0\ndeepspeed.initialize(config=config)\n"
    )
    said = {one.key: one.value for one in python_code.scan(Document("train.py", program)).settings}
    assert (said["deepspeed.zero_stage"], said["deepspeed.gradient_clipping"]) == (2, 1.0)
    assert said["precision.mode"] is None


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("make = partial(TrainingArguments, 'out', gradient_accumulation_steps=8)\nmake(bf16=True)\n", 3),
        ("make = partial(TrainingArguments, 'out')\nmake(gradient_accumulation_steps=8)\n", 4),
        (
            "make = partial(TrainingArguments, 'out', gradient_accumulation_steps=1)\n"
            "make(gradient_accumulation_steps=8)\n",
            4,
        ),
    ],
)
def test_what_a_function_was_given_before_it_is_called_is_an_argument(program: str, line: int) -> None:
    value, at, _ = steps("from functools import partial\n" + program)
    assert (value, at) == (8, line)

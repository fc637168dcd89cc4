"""What a program cannot do without, and what it guards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from gradcompat.files.root import Root
from gradcompat.formats.document import Document, read_document
from gradcompat.model.context import Context
from gradcompat.scanners.code.python_code import scan


def uses(text: str) -> list[tuple[int | None, str, str]]:
    """Line, kind and name of each, without `import torch`, which makes a program of it."""
    context = scan(Document("train.py", "import torch\n" + dedent(text)))
    found: list[tuple[int | None, str, str]] = []
    for one in context.uses:
        name = ".".join(part for part in (one.module, one.name, one.keyword) if part)
        if (one.kind, name) != ("import", "torch"):
            found.append((one.location.line, one.kind, name))
    return found


def test_imports_attributes_and_keywords() -> None:
    text = """
        import transformers
        import peft.tuners.lora as lora
        from transformers import HybridCache, TrainingArguments as Arguments
        args = Arguments(output_dir="out", evaluation_strategy="epoch", **more)
        cache = transformers.cache_utils.StaticCache()
        layer = lora.Linear
    """
    assert uses(text) == [
        (3, "import", "transformers"),
        (4, "import", "peft.tuners.lora"),
        (5, "import", "transformers.HybridCache"),
        (5, "import", "transformers.TrainingArguments"),
        (6, "keyword", "transformers.TrainingArguments.output_dir"),
        (6, "keyword", "transformers.TrainingArguments.evaluation_strategy"),
        (7, "attribute", "transformers.cache_utils.StaticCache"),
        (8, "attribute", "peft.tuners.lora.Linear"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from peft import Gone\nexcept ImportError:\n    Gone = None\n",
        "try:\n    from peft import Gone\nexcept Exception:\n    pass\n",
        "try:\n    import json\nexcept ImportError:\n    from peft import Gone\n",
        "from contextlib import suppress\nwith suppress(ImportError):\n    from peft import Gone\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from peft import Gone\n",
        "if is_peft_available():\n    from peft import Gone\n",
        "if Version(peft_version) >= Version('0.5'):\n    from peft import Gone\nelse:\n    from peft import Other\n",
        "if HAS_PEFT:\n    from peft import Gone\n",
        "from importlib.metadata import version as found\nif found('peft')[0] == '0':\n    from peft import Gone\n",
        "major, minor = peft.__version__.split('.')\nif major == '0':\n    from peft import Gone\n",
        "new, old = make(peft.__version__)\nmodel = peft.Gone() if new else None\n",
        "def f():\n    if not is_peft_available():\n        return\n    from peft import Gone\n",
        "@require_peft\ndef f():\n    from peft import Gone\n",
        "assert is_peft_available()\nfrom peft import Gone\n",
        "from . import peft\n",
        "x: 'peft.Gone' = 1\n",
        "import json, os.path\n",
        "FOUR = Version(transformers.__version__).major == 4\nif FOUR:\n    from peft import Gone\n",
        "import importlib\nok = importlib.util.find_spec('peft')\nif ok:\n    from peft import Gone\n",
        "def at_least(n):\n    return transformers.__version__ >= n\nif at_least('5'):\n    from peft import Gone\n",
        "match transformers.__version__[0]:\n    case '4':\n        from peft import Gone\n",
        "if False:\n    from peft import Gone\n",
        "if 0:\n    pass\nelif is_peft_available():\n    from peft import Gone\n",
        "def load():\n    from peft import Gone\ntry:\n    load()\nexcept ImportError:\n    pass\n",
        "class A:\n    def load(self):\n        from peft import Gone\n    def run(self):\n"
        "        try:\n            self.load()\n        except Exception:\n            pass\n",
        "def test():\n    with pytest.raises(ImportError):\n        from peft import Gone\n",
        "import typing as t\nif t.TYPE_CHECKING:\n    from peft import Gone\n",
        "x = peft.Gone if hasattr(peft, 'Gone') else None\n",
        "while not hasattr(peft, 'Gone'):\n    from peft import Gone\n",
        "def f():\n    require_version('peft>=0.8,<0.9', hint)\n    from peft import Gone\n",
        "def f():\n    try:\n        require_version('peft<=0.9')\n    except ImportError as error:\n"
        "        raise error\n    from peft import Gone\n",
        "class A:\n    def __init__(self):\n        check_version('peft==0.9')\n"
        "    def f(self):\n        from peft import Gone\n",
    ],
)
def test_what_is_guarded_is_left_out(text: str) -> None:
    assert uses(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from peft import Gone\nfinally:\n    pass\n",
        "try:\n    from peft import Gone\nexcept ImportError:\n    raise SystemExit('install peft')\n",
        "try:\n    from peft import Gone\nexcept KeyError:\n    pass\n",
        "if args.lora:\n    from peft import Gone\n",
        "def f():\n    from peft import Gone\n",
        # What asks for no more than a lowest version lets newer ones through, which may have removed the name.
        "check_min_version('0.8')\nfrom peft import Gone\n",
        "require_version('peft>=0.8', hint)\nfrom peft import Gone\n",
        "class A:\n    def other(self):\n        check_version('peft==0.9')\n"
        "    def f(self):\n        from peft import Gone\n",
    ],
)
def test_what_only_looks_guarded_counts(text: str) -> None:
    assert [name for _, _, name in uses(text)] == ["peft.Gone"]


def test_a_name_that_the_program_puts_there_itself() -> None:
    assert uses("import peft\npeft.Gone = 1\npeft.Gone()\npeft.Other\n") == [
        (2, "import", "peft"),
        (5, "attribute", "peft.Other"),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "sys.modules['peft'].Gone = 1",
        "setattr(peft, 'Gone', 1)",
        "setattr(sys.modules['peft'], 'Gone', 1)",
        "def patch():\n    import peft as p\n    p.Gone = 1",
        "sys.modules['peft.Gone'] = fake",
    ],
)
def test_every_way_to_put_a_name_there(statement: str) -> None:
    text = f"import sys\nimport peft\n{statement}\nfrom peft import Gone\n"
    assert "peft.Gone" not in [name for _, _, name in uses(text)]


@pytest.mark.parametrize(
    ("text", "conditional"),
    [
        ("from peft import Gone\n", False),
        ("def f():\n    from peft import Gone\n", True),
        ("def f():\n    from peft import Gone\n    Gone()\n", True),
        ("def f():\n    from peft import Gone\nf()\n", False),
        ("def f():\n    from peft import Gone\ncli(f)\n", False),
        ("def f():\n    from peft import Gone\ndef g():\n    f()\nif __name__ == '__main__':\n    g()\n", False),
        ("def f():\n    from peft import Gone\ndef g():\n    f()\n", True),
        ("def f():\n    from peft import Gone\nif args.lora:\n    f()\n", True),
        ("def f():\n    from peft import Gone\nWAYS = {'lora': f}\n", True),
        ("def f():\n    from peft import Gone\nThread(target=f).start()\n", False),
        ("class A:\n    def __init__(self):\n        from peft import Gone\nA()\n", False),
        ("class A:\n    def __init__(self):\n        from peft import Gone\n", True),
        ("class A:\n    def train(self):\n        from peft import Gone\nA().train()\n", False),
        ("import peft\ndef f():\n    peft.Gone()\n", False),
        ("if __name__ == '__main__':\n    from peft import Gone\n", False),
        ("if args.lora:\n    from peft import Gone\n", True),
        ("if args.lora:\n    pass\nelse:\n    from peft import Gone\n", True),
        ("match kind:\n    case 'lora':\n        from peft import Gone\n", True),
        ("x = peft.Gone() if args.lora else None\nimport peft\n", True),
        ("if args.lora:\n    from peft import Gone\nfrom peft import Gone\n", False),
        ("def f():\n    if not path:\n        raise ValueError\n    from peft import Gone\nf()\n", False),
        (
            "def f():\n    try:\n        from peft import Gone\n    except ImportError as error:\n"
            "        raise RuntimeError('this needs our fork of peft') from error\n",
            True,
        ),
        ("def f():\n    try:\n        from peft import Gone\n    except ImportError:\n        raise\nf()\n", False),
        ("try:\n    from peft import Gone\nexcept ImportError:\n    raise ImportError('install peft')\n", False),
    ],
)
def test_what_stands_behind_a_condition_may_never_run(text: str, conditional: bool) -> None:
    context = scan(Document("train.py", f"import torch\n{text}run()\n"))
    assert {one.conditional for one in context.uses if one.name == "Gone"} == {conditional}


@pytest.mark.parametrize("end", ["", "LAYERS.append(model)\n", "torch.library.register('own', model)\n"])
def test_what_no_program_imports_may_never_run(end: str) -> None:
    text = f"import torch\nfrom peft import Gone\ndef model():\n    return Gone()\n{end}"
    assert {one.conditional for one in scan(Document("models.py", text)).uses} == {True}


def project(folder: Path, files: Mapping[str, str]) -> Context:
    """What `train.py` in a folder with these files says."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return scan(read_document(folder / "train.py", "train.py", Root(str(folder), str(folder))))


PROGRAM = "import torch\n{}\nif __name__ == '__main__':\n    run()\n"


def gone(context: Context) -> list[bool]:
    """Of each place that uses `peft.Gone` whether it stands behind a condition."""
    return [one.conditional for one in context.uses if one.full_name == "peft.Gone"]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("import part", [False]),
        ("def f():\n    from part import x", [True]),
        ("def f():\n    from part import x\nf()", [False]),
        ("if args.lora:\n    import part", [True]),
        ("if args.lora:\n    import part\nelse:\n    from part import x", [True]),
        ("if args.lora:\n    import part\nimport part", [False]),
        ("try:\n    import part\nexcept ImportError:\n    part = None", []),
        ("if is_peft_available():\n    import part", []),
        ("if args.lora:\n    import between", [True]),
        ("import between", [False]),
    ],
)
def test_a_module_runs_as_surely_as_the_import_that_leads_to_it(
    tmp_path: Path, statement: str, found: list[bool]
) -> None:
    files = {"part.py": "from peft import Gone\n", "between.py": "from part import x\n"}
    assert gone(project(tmp_path, {**files, "train.py": PROGRAM.format(statement)})) == found


@pytest.mark.parametrize(
    ("imported", "given"),
    [
        ("import trl", {"trl.SFTTrainer", "trl.trainer.sft_config.SFTConfig", "trl.clone_chat_template"}),
        ("from unsloth import FastLanguageModel", {"trl.clone_chat_template"}),
        ("import part", {"trl.clone_chat_template"}),
    ],
)
def test_unsloth_takes_arguments_that_trl_has_dropped(tmp_path: Path, imported: str, given: set[str]) -> None:
    program = (
        f"import transformers\n{imported}\nfrom trl import SFTTrainer, clone_chat_template\n"
        "from trl.trainer.sft_config import SFTConfig\n"
        "SFTTrainer(tokenizer=1, args=SFTConfig(max_seq_length=2))\nclone_chat_template(resize=3)\n"
        "transformers.Trainer(tokenizer=1)\n"
    )
    context = project(tmp_path, {"part.py": "import unsloth\n", "train.py": program})
    found = {one.full_name for one in context.uses if one.kind == "keyword"}
    assert found == given | {"transformers.Trainer"}


def test_a_module_of_the_project_puts_a_name_there(tmp_path: Path) -> None:
    files = {"patches.py": "import peft\ndef patch():\n    peft.Gone = None\n"}
    program = PROGRAM.format("import patches\npatches.patch()\nfrom peft import Gone")
    assert gone(project(tmp_path, {**files, "train.py": program})) == []


@pytest.mark.parametrize(
    ("module", "question"),
    [
        ("FIVE = transformers.__version__ >= '5'\n", "FIVE"),
        ("def FIVE():\n    return hasattr(transformers, 'Cache')\n", "FIVE()"),
    ],
)
def test_a_module_of_the_project_knows_whether_it_is_there(tmp_path: Path, module: str, question: str) -> None:
    program = PROGRAM.format(f"from answers import FIVE\nif {question}:\n    from peft import Gone")
    assert gone(project(tmp_path, {"answers.py": module, "train.py": program})) == []


@pytest.mark.parametrize(
    ("copy", "found"),
    [
        ("peft.py", []),
        ("peft/__init__.py", []),
        ("src/peft/__init__.py", []),
        ("peft/notes.txt", [False]),
        ("other/peft/__init__.py", [False]),
    ],
)
def test_a_copy_in_the_project_stands_in_the_place_of_a_package(tmp_path: Path, copy: str, found: list[bool]) -> None:
    files = {copy: "", "requirements.txt": "peft==0.17.0\n", "train.py": PROGRAM.format("from peft import Gone")}
    assert gone(project(tmp_path, files)) == found


def test_a_name_that_is_bound_twice_stands_for_nothing() -> None:
    text = "import peft\nif args.mine:\n    peft = Mine()\npeft.Gone\n"
    assert uses(text) == [(2, "import", "peft")]


def test_each_use_once_where_it_stands_first() -> None:
    text = "import peft\npeft.Gone\npeft.Gone\n"
    assert uses(text) == [(2, "import", "peft"), (3, "attribute", "peft.Gone")]


KEYWORD = "transformers.TrainingArguments.evaluation_strategy"
ARGUMENTS = "from transformers import TrainingArguments\n"


def keywords(text: str) -> list[str]:
    return [name for _, kind, name in uses(ARGUMENTS + text) if kind == "keyword"]


@pytest.mark.parametrize(
    "text",
    [
        "TrainingArguments(**{'evaluation_strategy': 'steps'})\n",
        "TrainingArguments(**dict(evaluation_strategy='steps'))\n",
        "options = {'evaluation_strategy': 'steps'}\nTrainingArguments('out', **options)\n",
        "options = dict(evaluation_strategy='steps')\nTrainingArguments(**options)\n",
        "def f():\n    options = {'evaluation_strategy': 'steps'}\n    return TrainingArguments(**options)\nf()\n",
        "class Mine(TrainingArguments):\n    pass\nMine(evaluation_strategy='steps')\n",
        "from dataclasses import dataclass\n@dataclass\nclass Mine(TrainingArguments):\n    more: int = 1\n"
        "Mine(evaluation_strategy='steps', more=2)\n",
        "import dataclasses\n@dataclasses.dataclass(kw_only=True)\nclass Mine(TrainingArguments):\n    more: int = 1\n"
        "class Own(Mine):\n    pass\nOwn(**{'evaluation_strategy': 'steps'}, more=2)\n",
        "import functools\nmake = functools.partial(TrainingArguments, 'out', evaluation_strategy='steps')\n",
        "from functools import partial as later\noptions = {'evaluation_strategy': 'steps'}\n"
        "def f():\n    return later(TrainingArguments, **options)\nf()\n",
        "from functools import partial\nclass A(TrainingArguments):\n    pass\npartial(A, evaluation_strategy=1)()\n",
    ],
)
def test_keywords_in_an_unpacked_mapping_and_of_a_class_of_the_project(text: str) -> None:
    assert keywords(text) == [KEYWORD]


@pytest.mark.parametrize(
    "text",
    [
        "options = {'evaluation_strategy': 1}\noptions.pop('evaluation_strategy')\nTrainingArguments(**options)\n",
        "options = {'evaluation_strategy': 1}\ndel options['evaluation_strategy']\nTrainingArguments(**options)\n",
        "options = {'evaluation_strategy': 1}\nadapt(options)\nTrainingArguments(**options)\n",
        "options = {'evaluation_strategy': 1}\nif new:\n    options = {}\nTrainingArguments(**options)\n",
        "options = {'a': {'evaluation_strategy': 1}}\nTrainingArguments(**options['a'])\n",
        "TrainingArguments(**{name: 1 for name in names})\n",
        "from functools import partial\npartial(make, TrainingArguments, evaluation_strategy=1)\n",
        "from functools import partial\npartial(*TrainingArguments, evaluation_strategy=1)\n",
        "def partial(*called, **given): ...\npartial(TrainingArguments, evaluation_strategy=1)\n",
        "class Mine(TrainingArguments):\n    def __init__(self, evaluation_strategy):\n        super().__init__()\n"
        "Mine(evaluation_strategy=1)\n",
        "class Mine(TrainingArguments):\n    evaluation_strategy: str = 'no'\nMine(evaluation_strategy=1)\n",
        "class Mine(TrainingArguments, Other):\n    pass\nMine(evaluation_strategy=1)\n",
        "@adapted\nclass Mine(TrainingArguments):\n    pass\nMine(evaluation_strategy=1)\n",
        "class Mine(TrainingArguments, metaclass=Meta):\n    pass\nMine(evaluation_strategy=1)\n",
        "class Mine(TrainingArguments):\n    if old:\n        evaluation_strategy: str = 'no'\n"
        "Mine(evaluation_strategy=1)\n",
    ],
)
def test_keywords_that_may_be_changed_or_taken_by_the_project(text: str) -> None:
    assert keywords(text) == []


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("try:\n    from peft import LoraConfig\nexcept ImportError:\n    LoraConfig = None\n", {"peft.LoraConfig"}),
        ("try:\n    from peft import LoraConfig\nexcept ImportError:\n    raise\n", None),
        ("from peft import LoraConfig\ntry:\n    from peft import LoraConfig\nexcept ImportError:\n    pass\n", None),
    ],
)
def test_what_the_code_can_do_without(text: str, caught: set[str] | None) -> None:
    context = scan(Document("train.py", f"import torch\n{text}print(LoraConfig)\n"))
    found = [one.value for one in context.settings if one.key == "code.guarded"]
    assert found == ([] if caught is None else [tuple(caught)])

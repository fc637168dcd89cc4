"""What a program cannot do without, and what it guards."""

from __future__ import annotations

from textwrap import dedent

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.python_code import scan


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
        "def f():\n    if not is_peft_available():\n        return\n    from peft import Gone\n",
        "@require_peft\ndef f():\n    from peft import Gone\n",
        "assert is_peft_available()\nfrom peft import Gone\n",
        "from . import peft\n",
        "x: 'peft.Gone' = 1\n",
        "import json, os.path\n",
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
    ],
)
def test_what_only_looks_guarded_counts(text: str) -> None:
    assert [name for _, _, name in uses(text)] == ["peft.Gone"]


def test_a_name_that_the_program_puts_there_itself() -> None:
    assert uses("import peft\npeft.Gone = 1\npeft.Gone()\npeft.Other\n") == [
        (2, "import", "peft"),
        (5, "attribute", "peft.Other"),
    ]


def test_a_name_that_is_bound_twice_stands_for_nothing() -> None:
    text = "import peft\nif args.mine:\n    peft = Mine()\npeft.Gone\n"
    assert uses(text) == [(2, "import", "peft")]


def test_each_use_once_where_it_stands_first() -> None:
    text = "import peft\npeft.Gone\npeft.Gone\n"
    assert uses(text) == [(2, "import", "peft"), (3, "attribute", "peft.Gone")]

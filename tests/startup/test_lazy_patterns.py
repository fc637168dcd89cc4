"""A lazy pattern is the pattern."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from gradcompat.startup.lazy_patterns import lazy_pattern


def test_it_has_the_methods_of_a_pattern() -> None:
    lazy, pattern = lazy_pattern(r"(?P<name>a+)b", re.IGNORECASE), re.compile(r"(?P<name>a+)b", re.IGNORECASE)
    text = "xAAb ab"
    for _ in range(2):
        assert lazy.sub(r"<\g<name>>", text) == pattern.sub(r"<\g<name>>", text) == "x<AA> <a>"
        assert [one["name"] for one in lazy.finditer(text)] == ["AA", "a"]
        assert lazy.fullmatch("b") is None
        assert (lazy.pattern, lazy.groups, lazy.flags) == (pattern.pattern, pattern.groups, pattern.flags)
    assert lazy_pattern(rb"a").search(b"ba") is not None


COMPILED_ON_IMPORT = """
import re, sys
compiled, at_once = re.compile, set()
def watched(*arguments, **named):
    asking = sys._getframe(1)
    name = asking.f_globals["__name__"]
    if asking.f_code.co_name == "<module>" and name.partition(".")[0] == "gradcompat":
        at_once.add(name)
    return compiled(*arguments, **named)
re.compile = watched
from gradcompat.cli.main import main
try:
    main()
finally:
    print(*sorted(at_once), *sorted({"dataclasses", "inspect", "yaml"} & set(sys.modules)), file=sys.stderr)
"""


def test_a_check_of_a_program_imports_no_module_that_compiles_its_patterns_at_once(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\ntransformers==4.50.0\n")
    (tmp_path / "train.py").write_text(
        "from transformers import Trainer, TrainingArguments\n"
        "args = TrainingArguments(output_dir='out', gradient_accumulation_steps=4)\n"
        "Trainer(model=make(), args=args).train()\n"
    )
    check = subprocess.run(
        [sys.executable, "-c", COMPILED_ON_IMPORT, "check", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "requirements.txt" in check.stdout
    assert check.stderr.split() == []

"""What is made of the constants that bound the work of one input: the table of docs/limits.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

COMMAND = "python -m website.limits"
PAGE = Path(__file__).parents[1] / "docs" / "limits.md"
_TABLE = re.compile(r"(?<=^<!-- Generated: `python -m website\.limits` -->\n\n)(?:\|.*\n)*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Limit:
    """A row of the table.

    Attributes:
        constant: where its value stands, as ``module:NAME`` below ``gradcompat``.
        of: what is counted.
        beyond: what becomes of what exceeds it.
        unit: what the value is multiplied with to be bytes; 0 if it counts something else.
    """

    constant: str
    of: str
    beyond: str
    unit: int = 0

    @property
    def value(self) -> int:
        module, _, name = self.constant.partition(":")
        return int(getattr(import_module(f"gradcompat.{module}"), name))

    @property
    def row(self) -> str:
        shown = f"{self.value // 2**20} MiB" if self.unit and self.value >= 2**20 else f"{self.value:,}"
        shown = f"{self.value // 1024} KiB" if self.unit and self.value < 2**20 else shown
        return f"| {self.of} | {shown} | {self.beyond} |\n"


_UNREAD = "the file is not checked"
LIMITS = (
    Limit("formats.document:MAX_BYTES", "bytes of one file", _UNREAD, 1),
    Limit("sources.any_format:MOST_ENTRIES", "entries of one package in one environment", "the others are not checked"),
    Limit(
        "sources.any_format:MOST_REPEATED",
        "entries of packages that an environment lists more than 20 times",
        "the others are not checked",
    ),
    Limit("sources.any_format:MOST_SKIPPED", "parts of one file that cannot be read", "the others are counted"),
    Limit("sources.pyproject:MOST_REQUIREMENTS", "requirements of one pyproject.toml", "the others are not checked"),
    Limit("budget:MAX_CELLS", "cells of one notebook", _UNREAD),
    Limit("formats.yaml_composer:MAX_DEPTH", "levels of one YAML file", _UNREAD),
    Limit("formats.yaml_composer:MAX_MERGED", "keys that `<<` copies in one YAML file", _UNREAD),
    Limit("formats.toml_text:MOST_PARTS", "parts of one TOML key", _UNREAD),
    Limit(
        "formats.shell:MOST_STEPS", "steps of one shell script: its words, and the blocks around each command", _UNREAD
    ),
    Limit("scanners.configs.flat:MOST_DUPLICATES", "keys of one config that stand twice", "the others are counted"),
    Limit("scanners.code.syntax:MAX_CHARACTERS", "characters of one program", _UNREAD),
    Limit(
        "scanners.code.local_modules:MAX_MODULES",
        "modules of the project behind one program",
        "what they use is unknown",
    ),
    Limit(
        "scanners.code.local_modules:FOLLOWED",
        "steps, and one more for every 12 characters, in which programs follow modules that they share",
        "what the last programs import of the project is unknown",
    ),
    Limit(
        "scanners.code.local_modules:HANDED",
        "lines of modules that are read once more for what a program hands to their functions",
        "parameters of what the last programs import are unknown",
    ),
    Limit("scanners.configs.hydra_defaults:MOST_FILES", "files of one Hydra config", _UNREAD),
    Limit("scanners.configs.hydra_defaults:MOST_CHOICES", "choices in the lists of one Hydra config", _UNREAD),
    Limit("scanners.configs.hydra_merge:MOST_NODES", "values that are merged for one Hydra config", _UNREAD),
    Limit(
        "scanners.run_assembly:COMPOSED_FILES",
        "files that are read again to compose configs for command lines, in one run",
        "the settings of the other configs are unknown",
    ),
    Limit("matching.forks:MOST_STEPS", "steps that decide which entries go together", "the others count as together"),
    Limit("matching.package_terms:MAX_CHOICES", "choices of entries for one combination", "it is conditional at most"),
    Limit(
        "audit.environment_findings:MATCH_STEPS",
        "steps of matching, in one run, for each MB of environments (at least 1 MB)",
        "the other training runs of an environment are not matched, and the environments behind it are not checked",
    ),
    Limit(
        "audit.change_advice:PLAN_QUESTIONS",
        "questions to records that the plans of one check ask, in equal shares of the environments that train "
        "something; the others together ask as many once more",
        "each finding has the nearest change instead; no gap, but a note",
    ),
    Limit(
        "audit.options:PLAN_STEPS",
        "steps of the plans behind the advice of a check, for each MB of environments, shared likewise",
        "the nearest change of each finding instead",
    ),
    Limit(
        "audit.change_advice:ADVICE_STEPS",
        "steps of the nearest changes of one environment",
        "no change; no gap, but a note",
    ),
)


def table() -> str:
    """The rows of docs/limits.md."""
    return "".join(("| Counted | At most | Beyond |\n", "|---|---:|---|\n", *(limit.row for limit in LIMITS)))


def page() -> str:
    """The text of docs/limits.md as the constants say it.

    Raises:
        ValueError: if it has no place for the table.
    """
    before = PAGE.read_text("utf-8")
    if len(_TABLE.findall(before)) != 1:
        raise ValueError("docs/limits.md: there is not one place for the table")
    return _TABLE.sub(lambda _: table(), before)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

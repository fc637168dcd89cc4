"""What a log says of its own environment: lines of version tables, and settings that trainers announce.

The lines are gathered here, few of many millions, and read by the reader of environment reports; then each place is
given its line in the log back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gradcompat.model.environment import Environment, Location, Setting, Skipped

MOST_LINES = 5_000
_LONGEST = 2_000

# A line with a statement holds one of these; they are free of digits and signs, as the shapes of lines are.
STATEMENT_ANCHORS = (
    b" version",
    b"[pip",
    b"[conda]",
    b"latform: ",
    b" used to build PyTorch",
    b"river Version: ",
    b"Package  ",
    b"Package V",
    b" Lightning:",
    b" Packages:",
)
SETTING_ANCHORS = (
    b" steps = ",
    b"per device = ",
    b"gradient_accumulation_steps ",
    b"zero_optimization_stage ",
    b"communication_data_type ",
    b"eepSpeed info: ",
)

_STATEMENT = re.compile(
    r"[-*•> \t`]{0,8}(?:[A-Za-z][\w`()?/. +-]{0,60}? version(?:\s*\([^()]*\))?[*`]*\s*(?::|\.{2,})"
    r"|\[(?:pip3?|conda)\]\s|(?:Python platform|Platform|OS)\s*:|(?:CUDA|ROCM) used to build PyTorch\s*:"
    r"|\|.*Driver Version:|NVIDIA-SMI\s.*Driver Version:|(?:Lightning|Packages|System|CUDA):\s*$)"
)
_TABLE = re.compile(r"\s*Package\s+Version(?:\s.*)?")
_ROW = re.compile(r"\s*(?:-+\s+-+[\s-]*|[A-Za-z0-9][\w.-]*\s+\d\S*(?:\s+\S.*)?)")
_DEEPSPEED = re.compile(r"DeepSpeed info: version=(\d[\w.+]*)")
_NUMBER = re.compile(r"\d{1,9}")

# What trainers print of themselves before the first step, as facts: the key, and the lines that say it.
_ANNOUNCED = (
    ("training.gradient_accumulation_steps", re.compile(r"Gradient Accumulation steps = (\d{1,9})\b")),
    ("training.per_device_train_batch_size", re.compile(r"Instantaneous batch size per device = (\d{1,9})\b")),
    ("training.gradient_accumulation_steps", re.compile(r"^\S.*\bgradient_accumulation_steps \.{2,} (\d{1,9})\b")),
    ("deepspeed.zero_stage", re.compile(r"\bzero_optimization_stage \.{2,} ([0-3])\b")),
    (
        "deepspeed.communication_data_type",
        re.compile(r"(?<!_parallel_)\bcommunication_data_type \.{2,} (fp32|fp16|bf16)\b"),
    ),
)


@dataclass(slots=True)
class Statements:
    """The gathered lines of one log."""

    path: str
    lines: list[tuple[int, str]] = field(default_factory=list)
    settings: dict[tuple[str, int | str], Setting] = field(default_factory=dict)
    in_table: bool = False
    cut: bool = False

    def see(self, number: int, text: str) -> None:
        """Keep the line if it states something; below the head of a `pip list`, keep its rows."""
        if len(text) > _LONGEST:
            self.in_table = False
            return
        if self.in_table:
            self.in_table = _ROW.fullmatch(text) is not None
        if _TABLE.fullmatch(text):
            self.in_table = True
        if self.in_table or _STATEMENT.match(text):
            self._keep(number, text)
        elif match := _DEEPSPEED.search(text):
            self._keep(number, f"deepspeed version: {match[1]}")
        for key, pattern in _ANNOUNCED:
            if match := pattern.search(text):
                value = int(match[1]) if _NUMBER.fullmatch(match[1]) else match[1]
                location = Location(path=self.path, line=number)
                self.settings.setdefault((key, value), Setting(key=key, value=value, location=location))

    def _keep(self, number: int, text: str) -> None:
        if len(self.lines) < MOST_LINES:
            self.lines.append((number, text))
        else:
            self.cut = True

    def environment(self, read: Callable[[str], Environment | None]) -> Environment | None:
        """The environment that the lines state, with places in the log; None if they state none.

        Args:
            read: reads a text as an environment report, or finds nothing in it.
        """
        found = read("\n".join(text for _, text in self.lines)) if self.lines else None
        settings = tuple(self.settings.values())
        if found is None:
            if not settings:
                return None
            return Environment(source=self.path, kind="log", packages=(), closed=False, settings=settings)
        return replace(
            found,
            source=self.path,
            kind="log",
            packages=tuple(replace(one, location=self._place(one.location)) for one in found.packages),
            settings=settings,
            # Text that looks like a statement and is none is no gap: a log is mostly other things.
            skipped=self._skipped(),
            closed=False,
        )

    def _place(self, location: Location) -> Location:
        line = None if location.line is None else self.lines[location.line - 1][0]
        return Location(path=self.path, line=line)

    def _skipped(self) -> tuple[Skipped, ...]:
        if not self.cut:
            return ()
        reason = f"has more than {MOST_LINES:,} lines that state versions: the rest of them are not read"
        return (Skipped(what=self.path, reason=reason),)

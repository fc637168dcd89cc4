"""What a log says of its own environment: versions, settings that trainers announce, texts that they print.

The lines are gathered here, few of many millions, and read by the reader of environment reports; then each place is
given its line in the log back. What is a text of its own (a command line, a printed config) is cut out, for others to
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from gradcompat.diagnosis.devices_in_log import Devices
from gradcompat.diagnosis.excerpts import MOST_EXCERPTS, Excerpts
from gradcompat.diagnosis.installer_lines import INSTALLER_ANCHORS, InstallerLines
from gradcompat.diagnosis.versions_in_log import LONGEST_INSTALLED, UV_COUNT, Pins, Rows, installed, stated
from gradcompat.model.environment import Environment, Location, Setting, SettingValue, Skipped
from gradcompat.startup.lazy_patterns import lazy_pattern

MOST_LINES = 5_000
_LONGEST = 2_000

# A line with a statement holds one of these; they are free of digits and of the signs `.-+`.
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
    b"Name: ",  # pip show
    # installers
    b"uccessfully installed ",
    b"uccessfully uninstalled ",
    b" package in ",  # uv: `Installed 5 packages in 12ms`
    b" packages in ",
    b"irement already satisfied: ",
    # packages whose rows are the first of a list without a head; the others follow in the order of the alphabet
    b"accelerate==",
    b"bitsandbytes==",
    b"datasets==",
    b"deepspeed==",
    b"peft==",
    b"torch==",
    b"transformers==",
    b"accelerate  ",
    b"bitsandbytes  ",
    b"datasets  ",
    b"deepspeed  ",
    b"peft  ",
    b"torch  ",
    b"transformers  ",
    # what libraries print of themselves
    b"((==",
    b"CUDA Toolkit",
    b"ramework versions",
    b"Dependency Versions",
    b"__version__",
    b"PyTorch: ",
    b"TorchVision: ",
    b"MMEngine: ",
    b"LLM engine (v",
    b"utomatically upgraded your",
    *INSTALLER_ANCHORS,
)
SETTING_ANCHORS = (
    b" steps = ",
    b"per device = ",
    b"gradient_accumulation_steps ",
    b"zero_optimization_stage ",
    b"communication_data_type ",
    b"eepSpeed info: ",
    # command lines
    b"ccelerate launch ",
    b"torchrun ",
    b"cli train ",
    b"spawned with command",
    b"Command '['",
    b"gradient_accumulation_steps=",
    b"per_device_train_batch_size",
    # printed arguments and configs
    b"Arguments(",
    b"Namespace(",
    b"LoraConfig(",
    b"ModelConfig(",
    b"SFTConfig(",
    b"POConfig(",
    b"KTOConfig(",
    b" json = {",
    b"Model config ",
    b"resolved config:",
    b"[axolotl",
)

_STATEMENT = lazy_pattern(
    r"[-*•> \t`]{0,8}(?:[A-Za-z][\w`()?/. +-]{0,60}? version(?:\s*\([^()]*\))?[*`]*\s*(?::|\.{2,})"
    r"|\[(?:pip3?|conda)\]\s|(?:Python platform|Platform|OS)\s*:|(?:CUDA|ROCM) used to build PyTorch\s*:"
    r"|\|.*Driver Version:|NVIDIA-SMI\s.*Driver Version:|(?:Lightning|Packages|System|CUDA):\s*$)"
)
_TABLE = lazy_pattern(r"\s*Package\s+Version(?:\s.*)?")
_ROW = lazy_pattern(r"\s*(?:-+\s+-+[\s-]*|[A-Za-z0-9][\w.-]*\s+\d\S*(?:\s+\S.*)?)")
_DEEPSPEED = lazy_pattern(r"DeepSpeed info: version=(\d[\w.+]*)")
# In a model's config that transformers prints itself ("Model config LlamaConfig {") it is the version that prints; in
# a file it is the one that has saved the model, which says nothing of the run.
_OF_MODEL = lazy_pattern(r'\s{1,8}"transformers_version": "(\d[\w.+]{0,40})",?')
_NUMBER = lazy_pattern(r"\d{1,9}")

# What trainers print of themselves before the first step, as facts: the key, and the lines that say it.
_ANNOUNCED = (
    ("training.gradient_accumulation_steps", lazy_pattern(r"Gradient Accumulation steps = (\d{1,9})\b")),
    ("training.per_device_train_batch_size", lazy_pattern(r"Instantaneous batch size per device = (\d{1,9})\b")),
    ("training.gradient_accumulation_steps", lazy_pattern(r"^\S.*\bgradient_accumulation_steps \.{2,} (\d{1,9})\b")),
    ("deepspeed.zero_stage", lazy_pattern(r"\bzero_optimization_stage \.{2,} ([0-3])\b")),
    (
        "deepspeed.communication_data_type",
        lazy_pattern(r"(?<!_parallel_)\bcommunication_data_type \.{2,} (fp32|fp16|bf16)\b"),
    ),
)
# One of these stands in each of those lines.
_ANNOUNCING = (" steps = ", "per device = ", "_steps ..", "_stage ..", "data_type ..")


@dataclass(slots=True)
class Statements:
    """The gathered lines of one log.

    Attributes:
        path: how the log is shown.
        lines: the lines that state versions, as a report would have them.
        settings: what trainers announce in words of their own.
        printed: what the form of its metrics says, which counts where nothing states it: key → its possible values.
        devices: what it says of the device.
        excerpts: texts that others read.
        installer: what installers could not bring together.
        cut: there are more lines than are kept.
    """

    path: str
    lines: list[tuple[int, str]] = field(default_factory=list)
    settings: dict[tuple[str, int | str], Setting] = field(default_factory=dict)
    printed: dict[str, tuple[Setting, ...]] = field(default_factory=dict)
    devices: Devices = field(default_factory=Devices)
    excerpts: Excerpts = field(default_factory=Excerpts)
    installer: InstallerLines = field(default_factory=InstallerLines)
    cut: bool = False
    _below_head: bool = False
    _installing: bool = False  # below uv's count of what it has installed
    _pins: dict[str, int] = field(default_factory=dict)  # a line of our making → its index
    _rows: Rows = field(init=False)

    def __post_init__(self) -> None:
        self._rows = Rows(self._pin)

    @property
    def in_table(self) -> bool:
        """Does the next line count, whatever stands in it?"""
        return self._below_head or self._installing or self._rows.open or self.excerpts.open or self.installer.open

    def see(self, number: int, text: str) -> None:
        """Keep what the line states; where something has begun that goes on, the next line has to come as well."""
        if self.excerpts.see(number, text):
            if self.excerpts.kind == "model" and (match := _OF_MODEL.fullmatch(text)):
                self._pin(number, f"transformers=={match[1]}")
            return
        told = len(self.installer.demands)
        if self.installer.see(number, text):
            for demand in self.installer.demands[told:]:
                if demand.found is not None:
                    self._pin(number, f"{demand.name}=={demand.found}")
                    self._pin(number, f"{demand.by}=={demand.version}")
            return
        if len(text) <= _LONGEST:
            self.devices.see(number, text)
        pins = installed(text) if len(text) <= LONGEST_INSTALLED else None
        self._installing = UV_COUNT.fullmatch(text) is not None or (self._installing and pins is not None)
        if pins is not None:
            self._install(number, pins)
            return
        if len(text) > _LONGEST:
            self._below_head = False
            return
        if self._below_head:
            self._below_head = _ROW.fullmatch(text) is not None
        if _TABLE.fullmatch(text):
            self._below_head = True
        if self._below_head:
            self._keep(number, text)
        elif self._rows.see(number, text):
            return
        elif pinned := stated(text):
            for pin in pinned:
                self._pin(number, pin)
        elif _STATEMENT.match(text):
            self._keep(number, text)
        elif match := _DEEPSPEED.search(text):
            self._keep(number, f"deepspeed version: {match[1]}")
        if not any(word in text for word in _ANNOUNCING):
            return
        for key, pattern in _ANNOUNCED:
            if match := pattern.search(text):
                value = int(match[1]) if _NUMBER.fullmatch(match[1]) else match[1]
                location = Location(path=self.path, line=number)
                self.settings.setdefault((key, value), Setting(key=key, value=value, location=location))

    def _install(self, number: int, pins: Pins) -> None:
        for pin in pins.there:
            self._pin(number, pin)
        for pin in pins.gone:
            index = self._pins.pop(pin, None)
            if index is not None:
                self.lines[index] = (number, "")

    def _pin(self, number: int, pin: str) -> None:
        """Keep a statement once: every process of a run makes it."""
        if pin not in self._pins and self._keep(number, pin):
            self._pins[pin] = len(self.lines) - 1

    def _keep(self, number: int, text: str) -> bool:
        kept = len(self.lines) < MOST_LINES
        if kept:
            self.lines.append((number, text))
        else:
            self.cut = True
        return kept

    def environment(
        self, read: Callable[[str], Environment | None], excerpted: Iterable[Setting] = ()
    ) -> Environment | None:
        """The environment that the lines state, with places in the log; None if they state none.

        Args:
            read: reads a text as an environment report, or finds nothing in it.
            excerpted: what the excerpts say.
        """
        found = read("\n".join(text for _, text in self.lines)) if self.lines else None
        settings = self._settings(excerpted)
        virtual = self.devices.virtual()
        if found is None:
            if not settings and not virtual:
                return None
            return Environment(
                source=self.path,
                kind="log",
                packages=(),
                closed=False,
                settings=settings,
                skipped=self._skipped(),
                virtual=virtual,
            )
        return replace(
            found,
            source=self.path,
            kind="log",
            packages=tuple(replace(package, location=self._place(package.location)) for package in found.packages),
            settings=settings,
            # Text that looks like a statement and is none is no gap: a log is mostly other things.
            skipped=self._skipped(),
            closed=False,
            virtual={**virtual, **found.virtual},
        )

    def printed_by(self, number: int, key: str, values: tuple[str, ...]) -> None:
        """Note what the form of a line of metrics says; the first that says something of a key counts."""
        location = Location(path=self.path, line=number)
        self.printed.setdefault(
            key, tuple(Setting(key=key, value=value, location=location, presumed=True) for value in values)
        )

    def _settings(self, excerpted: Iterable[Setting]) -> tuple[Setting, ...]:
        stated = [*self.settings.values(), *self.devices.settings(self.path), *excerpted]
        keys = {setting.key for setting in stated}
        return joined(
            [*stated, *(setting for key, some in self.printed.items() if key not in keys for setting in some)]
        )

    def _place(self, location: Location) -> Location:
        line = None if location.line is None else self.lines[location.line - 1][0]
        return Location(path=self.path, line=line)

    def _skipped(self) -> tuple[Skipped, ...]:
        notes: list[Skipped] = []
        if self.cut:
            reason = f"has more than {MOST_LINES:,} lines that state versions: the rest of them are not read"
            notes.append(Skipped(what=self.path, reason=reason))
        if self.excerpts.cut:
            reason = f"prints more than {MOST_EXCERPTS} different command lines and configs: the rest are not read"
            notes.append(Skipped(what=self.path, reason=reason))
        return tuple(notes)


def joined(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """Each key and value once, where it first stands; what is set to something unknown gives way to what is known."""
    once: dict[tuple[str, SettingValue | None], Setting] = {}
    for setting in settings:
        once.setdefault((setting.key, setting.value), setting)
    known = {key for key, value in once if value is not None}
    kept = [setting for setting in once.values() if setting.value is not None or setting.key not in known]
    return tuple(sorted(kept, key=lambda one: one.location.line or 0))

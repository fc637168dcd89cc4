"""The authoring format of a record, checked with pydantic: used by ``compile`` and ``lint``, never by ``check``."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    StringConstraints,
    field_validator,
    model_validator,
)

from gradcompat.errors import ProbeUnavailable
from gradcompat.model.class_fact import CLASS_FACTS
from gradcompat.model.issue import Basis, Checked, Level
from gradcompat.model.probe import ProbeSpec
from gradcompat.quotation import parser_reason, quoted
from gradcompat.recipes.table import recipe_of
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import ALL, VersionSet, parse_version
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.symptom_parts import unmatchable
from gradcompat.terms.call_patterns import read_pattern
from gradcompat.terms.calls import read_call
from gradcompat.terms.symbol_patterns import is_call
from gradcompat.vocabulary import KEYS, VIRTUAL_PACKAGES

# `GC` is the prefix of what ships with gradcompat; somebody's own records have another one.
ID = r"[A-Z][A-Z0-9]+-[0-9]{4}"
SHIPPED_PREFIX = "GC-"
SUMMARY = 100  # characters

# ``">1"`` and ``"!=fp32"`` as the value of a setting.
COMPARISON = lazy_pattern(r"\s*(>=|<=|!=|>|<)\s*(.+?)\s*")

# Keys that the command line takes, and that are no settings to the matcher: where their terms stand.
_FACTS = {key: f"virtual: {{{name}: …}}" for key, name in VIRTUAL_PACKAGES.items()} | {
    "host.python": "python: …",
    "host.platform": "platform: […]",
}

Scalar = bool | int | float | str
ReferenceType = Literal["REPORT", "INTRODUCED", "FIX", "ARTICLE", "EVIDENCE", "WEB"]
Category = Literal[
    "loss-scale",
    "gradient-scale",
    "lost-gradient",
    "wrong-gradient",
    "no-op-training",
    "nan",
    "masking",
    "packing",
    "data-order",
    "resume",
    "checkpoint",
    "weights",
    "dtype",
    "optimizer",
    "clipping",
    "wrong-loss",
    "wrong-metric",
    "crash",
    "import",
    "memory",
    "behaviour-change",
]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _day(text: str) -> str:
    date.fromisoformat(text)
    return text


Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_day)]


def number(text: str) -> int | float | str:
    """The operand of a comparison: a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _check_package_name(name: str) -> None:
    if name != normalise(name):
        raise ValueError(f"`{name}` is not normalised: write `{normalise(name)}`")


def _versions(text: str) -> str:
    if not VersionSet.parse(text):
        raise ValueError(f"`{text}` holds no version")
    return text


def _setting_value(key: str, value: Any) -> None:
    """Could a value of the key's type ever be this one, or stand in this comparison?

    Raises:
        ValueError: if not; such a term would be dead without a word.
    """
    if key not in KEYS:
        raise ValueError(f"`{key}` is not in the vocabulary")
    if key in _FACTS:
        raise ValueError(f"`{key}` is a fact of the host: write `{_FACTS[key]}`")
    wanted = KEYS[key].type
    comparison = COMPARISON.fullmatch(value) if isinstance(value, str) else None
    operand = value if comparison is None else number(comparison[2])
    match wanted:
        case "bool":
            fits = isinstance(value, bool)
        case "int":
            fits = isinstance(operand, int) and not isinstance(operand, bool)
        case "float":
            fits = isinstance(operand, (int, float)) and not isinstance(operand, bool)
        case _:
            fits = isinstance(value, str) and (comparison is None or comparison[1] == "!=")
    if not fits or (comparison is None and isinstance(value, str) and wanted not in ("str", "list")):
        raise ValueError(f"`{key}: {_written(value)}` can never hold: the key is of type {wanted}")


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Combination(_Strict):
    """All of these terms."""

    packages: dict[str, str] = Field(min_length=1)
    settings: dict[str, Scalar | list[Scalar]] = {}
    models: list[Text] = []
    symbols: list[Text] = []
    also: list[Text] = []
    without: list[Text] = []
    python: str | None = None
    platform: list[Literal["linux", "darwin", "win32"]] = []
    virtual: dict[str, str] = {}

    @field_validator("packages")
    @classmethod
    def _check_packages(cls, packages: dict[str, str]) -> dict[str, str]:
        for name, versions in packages.items():
            _check_package_name(name)
            if versions != "absent":
                _versions(versions)
        if all(versions == "absent" for versions in packages.values()):
            raise ValueError("a combination needs a package that is there")
        return packages

    @field_validator("settings")
    @classmethod
    def _check_settings(cls, settings: dict[str, Any]) -> dict[str, Any]:
        for key, value in settings.items():
            for item in value if isinstance(value, list) else [value]:
                _setting_value(key, item)
                if isinstance(value, list) and isinstance(item, str) and COMPARISON.fullmatch(item):
                    raise ValueError(f"`{key}: {item}` is a comparison, which cannot stand in a list")
        return settings

    @field_validator("symbols", "also", "without")
    @classmethod
    def _check_symbols(cls, symbols: list[str]) -> list[str]:
        for symbol in filter(is_call, symbols):
            read_pattern(symbol)
        return symbols

    @field_validator("python")
    @classmethod
    def _check_python(cls, versions: str | None) -> str | None:
        return None if versions is None else _versions(versions)

    @field_validator("virtual")
    @classmethod
    def _check_virtual(cls, virtual: dict[str, str]) -> dict[str, str]:
        for name, versions in virtual.items():
            if name not in VIRTUAL_PACKAGES.values():
                raise ValueError(f"`{name}` is not a virtual package: {', '.join(VIRTUAL_PACKAGES.values())}")
            _versions(versions)
        return virtual


class VersionRemedy(_Strict):
    kind: Literal["upgrade", "downgrade"]
    package: str
    versions: str
    note: Text | None = None
    accepts: dict[str, Text] = Field(
        default={}, description="ids of records that the remedy lands in, each with the reason why it still helps"
    )

    @field_validator("versions")
    @classmethod
    def _check(cls, versions: str) -> str:
        return _versions(versions)

    @model_validator(mode="after")
    def _names_a_release(self) -> VersionRemedy:
        self.target()
        return self

    def target(self) -> str:
        """The release that the remedy is nearest to: what a user of an affected version would move to.

        Raises:
            ValueError: if the range does not begin (upgrade) or end (downgrade) at a release that it holds.
        """
        low, high = VersionSet.parse(self.versions).intervals[0 if self.kind == "upgrade" else -1]
        end, side = (low, 0) if self.kind == "upgrade" else (high, 1)
        if end is None or end[1] != side:
            wanted = (
                "an upgrade has to begin with `>=`" if self.kind == "upgrade" else "a downgrade has to end with `<=`"
            )
            raise ValueError(f"a remedy that is {wanted} a release, or be `==`")
        return str(end[0])


class SettingRemedy(_Strict):
    kind: Literal["setting"]
    key: str
    value: Scalar
    packages: dict[str, str] = Field(default={}, description="the releases that have the setting")
    note: Text | None = None

    @field_validator("packages")
    @classmethod
    def _check_packages(cls, packages: dict[str, str]) -> dict[str, str]:
        for name, versions in packages.items():
            _check_package_name(name)
            _versions(versions)
        return packages

    @model_validator(mode="after")
    def _check(self) -> SettingRemedy:
        _setting_value(self.key, self.value)
        if isinstance(self.value, str) and COMPARISON.fullmatch(self.value):
            raise ValueError(f"`{self.key}: {self.value}` is a comparison: a remedy gives one value")
        return self


class CodeRemedy(_Strict):
    kind: Literal["code"]
    text: Text


class InstallRemedy(_Strict):
    kind: Literal["install"]
    text: Text


Remedy = Annotated[VersionRemedy | SettingRemedy | CodeRemedy | InstallRemedy, Field(discriminator="kind")]


class Reference(_Strict):
    type: ReferenceType
    url: str

    @field_validator("url")
    @classmethod
    def _check(cls, url: str) -> str:
        HttpUrl(url)
        if not url.startswith("https://"):
            raise ValueError(f"`{url}` is not an https address")
        return url


class Examples(_Strict):
    """Environments that the record must match, and must not; executed by ``lint`` and by the test suite."""

    affected: list[dict[str, Any]] = Field(min_length=1)
    not_affected: list[dict[str, Any]] = Field(min_length=1)
    conditional: list[dict[str, Any]] = []

    @field_validator("affected", "not_affected", "conditional")
    @classmethod
    def _check(cls, examples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for example in examples:
            for key, value in example.items():
                if key == "symbols":
                    for call in filter(is_call, value):
                        read_call(call)
                if key in ("model", "symbols"):
                    continue
                if key in KEYS:
                    for item in value if isinstance(value, list) else [value]:
                        _setting_value(key, item)
                    continue
                if not isinstance(value, str):
                    raise ValueError(f"`{key}: {value}` is a number: quote the version")
                if key != "platform" and parse_version(value) is None:
                    raise ValueError(f"`{key}: {value}` is not a version")
        return examples


class ProbeReference(_Strict):
    """A measurement that shows the issue, in an environment that is affected."""

    name: str
    parameters: dict[str, bool | int | float | str] = {}
    quantities: list[str] = Field(default=[], description="the values that it is about, where not all of the recipe's")
    combinations: list[int] = Field(
        default=[], description="positions, from 0, of the combinations in `affected` that it proves, where several are"
    )

    @model_validator(mode="after")
    def _check(self) -> ProbeReference:
        try:
            recipe = recipe_of(ProbeSpec(name=self.name, parameters=self.parameters))
        except ProbeUnavailable as error:
            raise ValueError(f"{error.message} ({error.hint})") from None
        if self.parameters.get("plant") not in (None, recipe.parameters.get("plant", (None,))[0]):
            raise ValueError(
                f"`plant: {self.parameters['plant']}` is a defect that the recipe puts in: it proves nothing"
            )
        for quantity in self.quantities:
            if all(quantity != expectation.value for expectation in recipe.expectations):
                known = ", ".join(expectation.value for expectation in recipe.expectations)
                raise ValueError(f"`{self.name}` expects nothing of `{quantity}` (it does of: {known})")
        return self


class IndependentCheck(_Strict):
    """That other code than the author's has shown the record to be right, when, and in what."""

    date: Day
    what: list[Checked] = Field(min_length=1)

    @field_validator("what")
    @classmethod
    def _check(cls, what: list[str]) -> list[str]:
        if what != sorted(set(what)):
            raise ValueError("parts are in alphabetical order, each once")
        return what


class Bound(_Strict):
    """One end of a range that is known in another way than ``range_basis`` says of the rest."""

    package: str
    bound: Annotated[str, StringConstraints(pattern=r"^(>=|>|<=|<)[^\s,|]+$")]
    basis: Basis

    @field_validator("bound")
    @classmethod
    def _check(cls, bound: str) -> str:
        VersionSet.parse(bound)
        return bound


class Record(_Strict):
    """One issue as it stands in ``knowledge/issues.yaml``, or in somebody's own file, where ids have another prefix."""

    id: Annotated[str, StringConstraints(pattern=rf"^{ID}$")]
    summary: Annotated[Text, StringConstraints(max_length=SUMMARY)]
    details: Text
    level: Level
    silent: bool
    informational: bool = False
    categories: list[Category] = Field(min_length=1)
    affected: list[Combination] = Field(min_length=1)
    symptoms: list[Text] = []
    remedies: list[Remedy] = []
    references: list[Reference] = Field(min_length=1)
    range_basis: Basis
    bounds: list[Bound] = []
    evidence: list[Text] = Field(min_length=1)
    examples: Examples
    probes: list[ProbeReference] = []
    checked: IndependentCheck | None = None
    withdrawn: Text | None = None
    instead_of: list[Annotated[str, StringConstraints(pattern=rf"^{ID}$")]] = Field(
        default=[], description="more general records of the same defect: not told where this one is affected"
    )

    @field_validator("symptoms")
    @classmethod
    def _check_symptoms(cls, symptoms: list[str]) -> list[str]:
        for symptom in symptoms:
            try:
                re.compile(symptom)
            except re.error as error:
                raise ValueError(f"`{symptom}` is not a regular expression: {parser_reason(str(error))}") from None
            reason = unmatchable(symptom)
            if reason is not None:
                raise ValueError(f"`{symptom}` matches nothing in a log: {reason}")
        return symptoms

    @model_validator(mode="after")
    def _consistent(self) -> Record:
        if self.level == "error" and self._only_reported():
            raise ValueError("`reported` alone makes no error: measure it, read the releases, or lower the level")
        for bound in self.bounds:
            ranges = [combination.packages.get(bound.package) for combination in self.affected]
            if VersionSet.parse(bound.bound) not in [end for text in ranges if text is not None for end in _ends(text)]:
                name = quoted(bound.package, "its package")
                raise ValueError(f"bounds: no range of {name} in `affected` has the end `{bound.bound}`")
            if bound.basis in ("measured", self.range_basis):
                raise ValueError(
                    f"bounds: `{bound.package} {bound.bound}`: `{bound.basis}` is what measurements or the record say"
                )
        for probe in self.probes:
            if any(not 0 <= position < len(self.affected) for position in probe.combinations):
                raise ValueError(f"probes: `{probe.name}`: `affected` has no combination {max(probe.combinations)}")
        if self.informational and self.level != "note":
            raise ValueError("an informational record is a note")
        if not self.informational and not self.remedies and self.withdrawn is None:
            raise ValueError("a defect needs a remedy")
        if self.summary.endswith("."):
            raise ValueError("the summary is one sentence without its period")
        return self

    def _only_reported(self) -> bool:
        """Is there no end of a range that anybody has checked, or that the project states?"""
        stated = {(bound.package, VersionSet.parse(bound.bound)): bound.basis for bound in self.bounds}
        ends = [
            (name, end)
            for combination in self.affected
            for name, text in combination.packages.items()
            for end in _ends(text)
            if end != ALL
        ]
        return self.range_basis == "reported" or (bool(ends) and all(stated.get(end) == "reported" for end in ends))


def _ends(versions: str) -> list[VersionSet]:
    """Both ends of each interval, as everything on the side on which it lies."""
    if versions == "absent":
        return []
    intervals = VersionSet.parse(versions).intervals
    return [VersionSet((end,)) for low, high in intervals for end in ((low, None), (None, high))]


class PackageFacts(_Strict):
    """What has to be known of a package beside its defects."""

    yanked: list[str] = []
    also: list[str] = Field(default=[], description="other distributions of the same code")
    conda: list[str] = Field(default=[], description="names of its conda packages, where they differ")
    built_for: str | None = Field(default=None, description="the package that its compiled library is linked with")


class Horizon(_Strict):
    """The newest release of a package that was looked at, and the day."""

    version: str
    date: Day

    @field_validator("version")
    @classmethod
    def _check(cls, version: str) -> str:
        if parse_version(version) is None:
            raise ValueError(f"`{version}` is not a version")
        return version


class ClassFact(_Strict):
    """A fact that a class decides, in some releases of its package."""

    fact: str
    value: bool
    packages: dict[str, str] = Field(min_length=1, max_length=1)
    classes: list[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]] = Field(min_length=1)
    evidence: list[Text] = Field(min_length=1)

    @field_validator("fact")
    @classmethod
    def _check_fact(cls, fact: str) -> str:
        if fact not in CLASS_FACTS:
            raise ValueError(f"`{fact}` is not what a class decides: {', '.join(CLASS_FACTS)}")
        return fact

    @field_validator("packages")
    @classmethod
    def _check_packages(cls, packages: dict[str, str]) -> dict[str, str]:
        for name, versions in packages.items():
            _check_package_name(name)
            _versions(versions)
        return packages

    @field_validator("classes")
    @classmethod
    def _check_classes(cls, classes: list[str]) -> list[str]:
        if classes != sorted(set(classes), key=lambda name: (name.lower(), name)):
            raise ValueError("classes are in order, each once")
        return classes


class Knowledge(_Strict):
    """The whole file."""

    date: Day
    packages: dict[str, PackageFacts] = {}
    horizon: dict[str, Horizon] = {}
    models: list[ClassFact] = []
    issues: list[Record]

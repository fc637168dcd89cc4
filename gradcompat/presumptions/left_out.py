"""What a run leaves out has the default of its trainer, in the release that is there.

:mod:`gradcompat.defaults` is certain of a few of these, where the whole program was seen. For any other recognised run
they are presumed: something that was not read may still set them.
"""

from __future__ import annotations

from functools import lru_cache

from gradcompat.lazy_dataclasses import dataclass
from gradcompat.model.environment import Environment, Location, Setting, SettingValue
from gradcompat.presumptions.engines import FRAMEWORK_KEY
from gradcompat.truth import Truth
from gradcompat.versions import VersionSet, locate

_TRAINER, _TRL, _LIGHTNING = "transformers.Trainer", "trl", "lightning"
_SENTENCES = "sentence-transformers"  # its arguments derive from those of transformers, and set none of these


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """The default of one setting in one trainer.

    Attributes:
        key: the setting.
        value: what it is where a run leaves it out.
        frameworks: values of ``training.framework`` of which this is true.
        package: whose version decides.
        versions: the releases that have it.
        read: the releases in whose code it was read; the first and the last of a change are among them.
        beside: settings that have to be stated with these values; otherwise it has no meaning.
        against: settings that turn it round where they are stated with these values.
        unless: a package and the versions of it that turn it round.
    """

    key: str
    value: SettingValue
    frameworks: tuple[str, ...] = (_TRAINER, _TRL, _SENTENCES)
    package: str = "transformers"
    versions: str = ">=4.29.0,<=5.23.0"
    read: str = "4.29.0, 4.46.0, 4.53.0, 4.54.0, 4.57.6, 5.0.0, 5.23.0"
    beside: tuple[tuple[str, SettingValue], ...] = ()
    against: tuple[tuple[str, SettingValue], ...] = ()
    unless: tuple[str, str] | None = None


_TRL_READ = "0.12.0, 0.16.0, 0.18.0, 0.19.0, 0.20.0, 0.21.0, 0.22.0, 0.23.0, 0.24.0, 0.29.0, 1.0.0, 1.16.0"
# Before 4.38.0 torch's own default counts, which torch 1.11.0 to 2.15.0 have as transformers has it then.
_REENTRANT_READ = (
    "4.11.3, 4.22.2, 4.31.0, 4.34.1, 4.35.2, 4.36.2, 4.37.2, 4.38.0, 4.40.0, 4.46.0, 4.49.0, 4.52.0, 4.57.6, "
    "5.0.0rc3, 5.0.0, 5.23.0"
)
_CHECKPOINTED = (("training.gradient_checkpointing", True),)
_ZERO_3 = (("deepspeed.zero_stage", 3),)  # TRL turns reentrant checkpointing on beside PEFT

LEFT_OUT = (
    LeftOut(key="training.gradient_accumulation_steps", value=1),
    LeftOut(key="training.gradient_checkpointing", value=False, frameworks=(_TRAINER, _SENTENCES)),
    LeftOut(
        key="training.gradient_checkpointing",
        value=False,
        frameworks=(_TRL,),
        package="trl",
        versions=">=0.12.0,<0.22.0",
        read=_TRL_READ,
    ),
    LeftOut(
        key="training.gradient_checkpointing",
        value=True,
        frameworks=(_TRL,),
        package="trl",
        versions=">=0.22.0,<=1.16.0",
        read=_TRL_READ,
    ),
    LeftOut(
        key="training.use_reentrant",
        value=True,
        frameworks=(_TRAINER, _SENTENCES),
        versions=">=4.11.3,<5.0.0",
        read=_REENTRANT_READ,
        beside=_CHECKPOINTED,
    ),
    LeftOut(
        key="training.use_reentrant",
        value=True,
        frameworks=(_TRL,),
        versions=">=4.11.3,<5.0.0",
        read=_REENTRANT_READ,
        beside=_CHECKPOINTED,
        unless=("trl", ">=0.27.0"),
    ),
    LeftOut(
        key="training.use_reentrant",
        value=False,
        versions=">=5.0.0,<=5.23.0",
        read=_REENTRANT_READ,
        beside=_CHECKPOINTED,
        against=_ZERO_3,
    ),
    LeftOut(
        key="training.use_reentrant",
        value=False,
        frameworks=(_TRL,),
        package="trl",
        versions=">=0.27.0,<=1.16.0",
        read="0.12.0, 0.16.0, 0.20.0, 0.22.0, 0.26.0, 0.27.0, 0.28.0, 0.29.0, 1.0.0, 1.16.0",
        beside=_CHECKPOINTED,
        against=_ZERO_3,
    ),
    LeftOut(key="training.label_smoothing_factor", value=0.0),
    LeftOut(key="training.torch_compile", value=False),
    LeftOut(key="training.use_liger_kernel", value=False),
    LeftOut(key="training.use_liger_loss", value=False),
    LeftOut(key="training.neftune_noise_alpha", value=0),
    LeftOut(key="training.resume_from_checkpoint", value=False),
    LeftOut(key="training.dataloader_num_workers", value=0),
    LeftOut(key="training.max_grad_norm", value=1.0),
    *(
        LeftOut(
            key="training.max_grad_norm",
            value=0.0,
            frameworks=(_LIGHTNING,),
            package=package,
            versions=">=1.5.0,<=2.6.6",
            read="1.5.0, 1.6.5, 1.7.0, 1.9.5, 2.0.0, 2.0.9, 2.1.0, 2.3.3, 2.4.0, 2.5.3, 2.5.4, 2.6.0, 2.6.1, 2.6.6",
        )
        for package in ("lightning", "pytorch-lightning")
    ),
    LeftOut(key="training.logging_nan_inf_filter", value=True),
    LeftOut(key="training.average_tokens_across_devices", value=False, frameworks=(_TRAINER,), versions="<4.54.0"),
    LeftOut(
        key="training.average_tokens_across_devices",
        value=True,
        frameworks=(_TRAINER,),
        versions=">=4.54.0,<=5.23.0",
    ),
    LeftOut(
        key="model.torch_dtype",
        value="auto",
        frameworks=(_TRAINER, _TRL, _LIGHTNING, "accelerate", "torch"),
        versions=">=5.0.0rc2,<=5.23.0",
        read="4.57.6, 5.0.0rc1, 5.0.0rc2, 5.0.0, 5.23.0, each of which loaded a checkpoint",
    ),
    LeftOut(key="precision.mode", value="no", frameworks=(_TRAINER, _SENTENCES)),
    LeftOut(
        key="precision.mode",
        value="bf16",
        frameworks=(_TRL,),
        package="trl",
        versions=">=0.19.0,<=1.16.0",
        read=_TRL_READ,
    ),
    LeftOut(key="optimizer.name", value="adamw_torch", versions=">=4.46.0,<4.54.0"),
    LeftOut(key="optimizer.library", value="torch", versions=">=4.46.0,<=5.23.0"),
    LeftOut(key="optimizer.weight_decay", value=0.0),
)


def left_out(environment: Environment) -> tuple[Setting, ...]:
    """The presumed settings of a run: what it leaves out, by the trainer that it names.

    Where several trainers may drive it, only what all of them have in common is presumed.

    Args:
        environment: with everything that is stated of the run.
    """
    stated = {(setting.key, setting.value) for setting in environment.settings if not setting.presumed}
    keys = {setting.key for setting in environment.settings}
    having: dict[str, list[LeftOut]] = {}
    frameworks = _frameworks(environment)
    for default in LEFT_OUT:
        if (
            default.key not in keys
            and stated.issuperset(default.beside)
            and stated.isdisjoint(default.against)
            and (default.unless is None or not _installed(environment, *default.unless))
            and _installed(environment, default.package, default.versions)
        ):
            having.setdefault(default.key, []).append(default)
    found: list[Setting] = []
    for key, candidates in having.items():
        defaults = [default for default in candidates if not frameworks.isdisjoint(default.frameworks)]
        covered = {framework for default in defaults for framework in default.frameworks}
        if not defaults or len({default.value for default in defaults}) > 1 or not frameworks <= covered:
            continue
        default = defaults[0]
        versions = _installed(environment, default.package, default.versions)
        place = Location(path=f"default of {default.package} {versions}".rstrip())
        found.append(Setting(key=key, value=default.value, location=place, presumed=True))
    return tuple(found)


def _frameworks(environment: Environment) -> set[SettingValue | None]:
    """What drives the run, or else what presumably does."""
    named = [setting for setting in environment.settings if setting.key == FRAMEWORK_KEY]
    return {setting.value for setting in named if not setting.presumed} or {setting.value for setting in named}


def _installed(environment: Environment, name: str, versions: str) -> str | None:
    """The versions of a package, if all of them are in a range."""
    entries = [package for package in environment.packages if package.name == name]
    having = _versions(versions)
    named = [version for entry in entries for version in (entry.version, *entry.releases[-1:]) if version is not None]
    windows = [locate(version) for version in named]
    if not windows or not all(window is not None and having.truth(window) is Truth.YES for window in windows):
        return None
    return " and ".join(dict.fromkeys(named))


@lru_cache
def _versions(text: str) -> VersionSet:
    return VersionSet.parse(text)

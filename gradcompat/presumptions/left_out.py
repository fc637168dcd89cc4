"""What a run leaves out has the default of its trainer, in the release that is there.

:mod:`gradcompat.defaults` is certain of a few of these, where the whole program was seen. For any other recognised run
they are presumed: something that was not read may still set them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gradcompat.model.environment import Environment, Location, Setting, SettingValue
from gradcompat.truth import Truth
from gradcompat.versions import VersionSet, locate

FRAMEWORK_KEY = "training.framework"
_TRAINER, _TRL, _LIGHTNING = "transformers.Trainer", "trl", "lightning"


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
    """

    key: str
    value: SettingValue
    frameworks: tuple[str, ...] = (_TRAINER, _TRL)
    package: str = "transformers"
    versions: str = ">=4.29.0,<=5.23.0"
    read: str = "4.29.0, 4.46.0, 4.53.0, 4.54.0, 4.57.6, 5.0.0, 5.23.0"


_TRL_READ = "0.12.0, 0.16.0, 0.18.0, 0.19.0, 0.20.0, 0.21.0, 0.22.0, 0.23.0, 0.24.0, 0.29.0, 1.0.0, 1.16.0"

LEFT_OUT = (
    LeftOut(key="training.gradient_accumulation_steps", value=1),
    LeftOut(key="training.gradient_checkpointing", value=False, frameworks=(_TRAINER,)),
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
    LeftOut(key="training.label_smoothing_factor", value=0.0),
    LeftOut(key="training.torch_compile", value=False),
    LeftOut(key="training.use_liger_kernel", value=False),
    LeftOut(key="training.neftune_noise_alpha", value=0),
    LeftOut(key="training.resume_from_checkpoint", value=False),
    LeftOut(key="training.dataloader_num_workers", value=0),
    LeftOut(key="training.max_grad_norm", value=1.0),
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
    LeftOut(key="precision.mode", value="no", frameworks=(_TRAINER,)),
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

    Args:
        environment: with everything that is stated of the run.
    """
    stated = {setting.key for setting in environment.settings}
    frameworks = {setting.value for setting in environment.settings if setting.key == FRAMEWORK_KEY}
    if len(frameworks) != 1:
        return ()
    (framework,) = frameworks
    found: dict[str, Setting] = {}
    for default in LEFT_OUT:
        if default.key in stated or framework not in default.frameworks:
            continue
        versions = _installed(environment, default)
        if versions is not None:
            place = Location(path=f"default of {default.package} {versions}".rstrip())
            found[default.key] = Setting(key=default.key, value=default.value, location=place, presumed=True)
    return tuple(found.values())


def _installed(environment: Environment, default: LeftOut) -> str | None:
    """The versions of the package, if all of them have the default."""
    entries = [package for package in environment.packages if package.name == default.package]
    having = _versions(default.versions)
    named = [version for entry in entries for version in (entry.version, *entry.releases[-1:]) if version is not None]
    windows = [locate(version) for version in named]
    if not windows or not all(window is not None and having.truth(window) is Truth.YES for window in windows):
        return None
    return " and ".join(dict.fromkeys(named))


@lru_cache
def _versions(text: str) -> VersionSet:
    return VersionSet.parse(text)

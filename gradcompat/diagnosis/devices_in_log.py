"""What a log says of the device that the run trains on, in the words of trainers, drivers and errors."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradcompat.host.gpu_names import gpus_in
from gradcompat.model.environment import Location, Setting
from gradcompat.startup.lazy_patterns import lazy_pattern

# A line about the device holds one of these; they are free of digits and of the signs `.-+`.
DEVICE_ANCHORS = (
    b"GPU available: ",
    b"evice: ",
    b"sing device",
    b"GPU type: ",
    b"GPU ",
    b"NVIDIA ",
    b"Num GPUs",
    b"CUDA capability",
    b"CUDA error: ",
    b"CUDA out of memory",
)

_DEVICE = lazy_pattern(
    r"(?:.{0,200}\bProcess rank: -?\d+, device: |(?:.{0,100}[\s\]:>-] ?)?[Uu]sing device:? ?['\"]?|Device: )"
    r"(cuda|cpu|mps|xpu)(?::\d+)?\b['\"]?(?:, n_gpu.*|\.?)"
)
_LIGHTNING = lazy_pattern(r"(?:.{0,100}\s)?GPU available: (True|False)(?: \((\w+)\))?, used: (True|False)")
_RUNTIME = lazy_pattern(r".*(?:CUDA error: |CUDA out of memory)")
# collect_env, `transformers env`, nvidia-smi, torch's warning, Unsloth
_GPU = lazy_pattern(
    r"\s*(?:[-*] )?GPU(?: type| \d{1,3})?: (?P<labelled>\S.{0,80})"
    r"|\| {1,4}\d{1,3} {2}(?P<row>\S.{0,40}?) {2,}.*"
    r"|(?:.{0,200}\s)?(?P<warned>(?:NVIDIA|Tesla|GeForce|Quadro)\b.{0,60}) with CUDA capability sm_\d+.*"
    r"|\s*\\\\ {0,6}/\| {2,8}(?P<sloth>\S.{0,60}?)\. Num GPUs = .*"
)
_CAPABILITY = lazy_pattern(r"with CUDA capability sm_(\d{1,2})(\d)\b")


@dataclass(slots=True)
class Devices:
    """The devices that the lines of one log name: each with its first line.

    Attributes:
        named: ``cuda``, ``rocm``, ``mps``, ``xpu`` or ``cpu`` → line.
        capabilities: compute capabilities of the GPUs; an empty one is unknown.
    """

    named: dict[str, int] = field(default_factory=dict)
    capabilities: set[str] = field(default_factory=set)

    def see(self, number: int, text: str) -> None:
        """Take what the line says, if anything."""
        if match := _GPU.fullmatch(text):
            self._gpus(number, text, next(group for group in match.groups() if group is not None))
        elif match := _DEVICE.fullmatch(text):
            self.named.setdefault(match[1], number)
        elif match := _LIGHTNING.fullmatch(text):
            if match[3] == "True" and match[2] is not None:
                self.named.setdefault(match[2], number)
            elif match[1] == "False":
                self.named.setdefault("cpu", number)
        elif _RUNTIME.match(text):
            self.named.setdefault("cuda", number)

    def _gpus(self, number: int, text: str, name: str) -> None:
        for gpu in gpus_in(name):
            self.named.setdefault(gpu.device, number)
            if gpu.device == "cuda":
                stated = _CAPABILITY.search(text)
                self.capabilities.add(f"{stated[1]}.{stated[2]}" if stated else gpu.compute_capability or "")

    def settings(self, path: str) -> tuple[Setting, ...]:
        """The device, if the lines agree; torch calls those of ROCm ``cuda``, too."""
        named = {device: line for device, line in self.named.items() if not (device == "cuda" and "rocm" in self.named)}
        return tuple(
            Setting(key="host.device", value=device, location=Location(path=path, line=line))
            for device, line in named.items()
        )

    def virtual(self) -> dict[str, str]:
        """The compute capability, if all GPUs have the same."""
        first, *others = self.capabilities or {""}
        return {"__cuda_arch": first} if first and not others else {}

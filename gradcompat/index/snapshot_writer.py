"""Writes the snapshot that ships with gradcompat: the same catalogue gives the same bytes.

``gradcompat knowledge snapshot`` calls this; nothing else writes :data:`gradcompat.index.snapshot.SHIPPED`.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from pathlib import Path

from gradcompat.errors import IndexUnavailable
from gradcompat.files.atomic_file import write_atomically
from gradcompat.index.requirers import requirers_among, requirers_as_json
from gradcompat.index.snapshot import FORMAT, HEADER, REQUIRERS, SDIST, YANKED
from gradcompat.model.release import Catalogue, Release
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_dataclasses import dataclass

# From this day on requirements are kept. Each costs a request or two, and hardly any set that is trained with today has
# older releases, of which the rest is kept.
SINCE = "2022-01-01"

# What environments of training hold beside the packages that records speak of: changing one of those drags these along.
# The libraries that torch pins by its CUDA are few and have no requirements, so they cost next to nothing.
_COMPANIONS = """\
torch torchvision torchaudio torchdata torchao torchtune triton triton-windows pytorch-triton pytorch-triton-rocm
xformers flash-attn transformers tokenizers safetensors huggingface-hub hf-xet hf-transfer accelerate peft trl
datasets bitsandbytes deepspeed pytorch-lightning lightning lightning-fabric lightning-utilities torchmetrics
diffusers sentence-transformers liger-kernel unsloth unsloth-zoo cut-cross-entropy llamafactory axolotl ms-swift
verl vllm compressed-tensors optimum auto-gptq gptqmodel autoawq kernels timm open-clip-torch einops evaluate
transformer-engine transformer-engine-torch mamba-ssm causal-conv1d flash-linear-attention megatron-core composer
jax jaxlib flax optax orbax-checkpoint chex ml-dtypes keras tensorflow tensorboard torch-geometric ray

numpy scipy pandas scikit-learn joblib threadpoolctl numba llvmlite pyarrow pillow opencv-python librosa soundfile
setuptools packaging wheel ninja protobuf sentencepiece tiktoken regex pyyaml requests tqdm jinja2 markupsafe sympy
mpmath networkx psutil filelock fsspec multiprocess dill xxhash aiohttp httpx click rich typer tyro hydra-core
omegaconf antlr4-python3-runtime wandb mlflow gradio pydantic pydantic-core typing-extensions hjson py-cpuinfo
aiohappyeyeballs aiosignal attrs frozenlist multidict propcache yarl annotated-types annotated-doc typing-inspection
httpcore httpx2 httpcore2 h11 anyio sniffio exceptiongroup async-timeout truststore typer-slim shellingham
markdown-it-py mdurl pygments cloudpickle coloredlogs humanfriendly absl-py grpcio protobuf werkzeug markdown
gitpython gitdb smmap platformdirs sentry-sdk jsonschema jsonschema-specifications referencing rpds-py colorama tomli
termcolor tabulate wrapt etils opt-einsum h5py optree namex dm-tree importlib-resources tensorboard-data-server cffi
lazy-loader decorator soxr audioread pooch fla-core ftfy wcwidth narwhals cachetools pyparsing
msgpack importlib-metadata zipp python-dateutil pytz tzdata six certifi charset-normalizer idna urllib3 rouge-score
nltk nvidia-ml-py

cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas nvidia-cublas-cu12 nvidia-cuda-cupti-cu12
nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12 nvidia-cudnn-cu12 nvidia-cudnn-cu13 nvidia-cufft-cu12
nvidia-cufile-cu12 nvidia-curand-cu12 nvidia-cusolver-cu12 nvidia-cusparse-cu12 nvidia-cusparselt-cu12
nvidia-cusparselt-cu13 nvidia-nccl-cu12 nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvjitlink-cu12
nvidia-nvshmem-cu12 nvidia-nvshmem-cu13 nvidia-nvtx-cu12
"""
COMPANIONS = frozenset(_COMPANIONS.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a snapshot that was written holds, and what it lacks.

    Attributes:
        packages: how many packages it has.
        releases: how many releases they have together.
        requirements: of how many of them the requirements are known.
        size: of the file, in bytes.
        missing: packages that it was to have and has not: name and reason.
        unread: releases since :data:`SINCE` whose requirements the catalogue could not find out: which, and why.
    """

    packages: int
    releases: int
    requirements: int
    size: int
    missing: tuple[tuple[str, str], ...]
    unread: tuple[tuple[str, str], ...]


def names_for_snapshot(spoken_of: Iterable[str]) -> tuple[str, ...]:
    """The packages that a snapshot has to have, in order."""
    return tuple(sorted({normalise(name) for name in spoken_of} | COMPANIONS))


def write_snapshot(
    catalogue: Catalogue,
    names: Iterable[str],
    path: Path,
    date: str,
    progress: Callable[[str, int, int], None] | None = None,
) -> Written:
    """Write what a catalogue knows of some packages into a file, which is replaced only by a complete one.

    Args:
        catalogue: an index, usually.
        names: the packages.
        path: the file.
        date: the day on which the catalogue was asked, as ISO 8601.
        progress: called with the package that is at work, its number from 1 on, and the number of all.

    Raises:
        IndexUnavailable: if the catalogue knows none of the packages; the file is then left as it is.
        OSError: if the file cannot be written.
    """
    wanted = sorted({normalise(name) for name in names})
    catalogue.expect(wanted)
    members: dict[str, object] = {}
    lines: dict[str, set[str]] = {}
    missing: list[tuple[str, str]] = []
    unread: list[tuple[str, str]] = []
    releases = requirements = 0
    for number, name in enumerate(wanted, start=1):
        if progress is not None:
            progress(name, number, len(wanted))
        try:
            found = catalogue.releases(name)
        except IndexUnavailable as error:
            missing.append((name, str(error)))
            continue
        if not found:
            missing.append((name, f"{catalogue.described} has no package of that name"))
            continue
        requires = _requirements(catalogue, found, unread)
        members[f"{name}.json"] = _member(found, requires)
        lines[name] = {line for required in requires for line in required or ()}
        releases += len(found)
        requirements += sum(lines is not None for lines in requires)
    if not members:
        raise IndexUnavailable(f"{catalogue.described} has none of the {len(wanted)} packages of a snapshot")
    requirers = requirers_as_json(requirers_among(lines), lines)
    data = _zipped({HEADER: {"date": date, "format": FORMAT, "since": SINCE}, REQUIRERS: requirers, **members})
    write_atomically(path, data)
    return Written(
        packages=len(members),
        releases=releases,
        requirements=requirements,
        size=len(data),
        missing=tuple(missing),
        unread=tuple(unread),
    )


def _requirements(
    catalogue: Catalogue, releases: Sequence[Release], unread: list[tuple[str, str]]
) -> list[tuple[str, ...] | None]:
    """The requirements of each release that is new enough."""
    recent = [release for release in releases if release.uploaded is not None and release.uploaded >= SINCE]
    catalogue.expect_requirements(recent)
    found: dict[int, tuple[str, ...] | None] = {}
    for each_release in recent:
        try:
            found[id(each_release)] = catalogue.requires(each_release)
        except IndexUnavailable as error:
            unread.append((f"{each_release.name} {each_release.version}", str(error)))
    return [found.get(id(release)) for release in releases]


def _member(releases: Sequence[Release], requires: Sequence[tuple[str, ...] | None]) -> object:
    """The tables of one package; :class:`gradcompat.index.snapshot.Snapshot` is the other side of this."""
    lines: dict[str, int] = {}
    wheels: dict[tuple[str, ...], int] = {}
    pythons: dict[str, int] = {}
    sets: dict[tuple[int, ...], int] = {}
    rows = []
    for one, required in zip(releases, requires, strict=True):
        runs = None if required is None else _runs([lines.setdefault(line, len(lines)) for line in required])
        rows.append(
            [
                str(one.version),
                (one.uploaded or "")[:10],
                (YANKED if one.yanked else 0) | (SDIST if one.sdist else 0),
                0 if one.requires_python is None else 1 + pythons.setdefault(one.requires_python, len(pythons)),
                wheels.setdefault(one.wheels, len(wheels)),
                0 if runs is None else 1 + sets.setdefault(runs, len(sets)),
            ]
        )
    return {
        "lines": list(lines),
        "pythons": list(pythons),
        "releases": rows,
        "requires": list(sets),
        "wheels": list(wheels),
    }


def _runs(numbers: Sequence[int]) -> tuple[int, ...]:
    """Consecutive numbers as pairs of a start and a stop: 3, 4, 5, 9 is 3, 6, 9, 10."""
    bounds: list[int] = []
    for number in numbers:
        if bounds and bounds[-1] == number:
            bounds[-1] = number + 1
        else:
            bounds += (number, number + 1)
    return tuple(bounds)


def _zipped(members: dict[str, object]) -> bytes:
    """A zip without clock, user or platform in it."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)  # its date is 1980-01-01 unless told otherwise
            info.create_system = 3
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
            file.writestr(info, text.encode(), compresslevel=9)
    return buffer.getvalue()

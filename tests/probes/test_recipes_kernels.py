"""The recipes of kernels, of models with them, of compiled regions and of parts of packages, really run.

Which releases those are, is up to whoever runs it: ``GRADCOMPAT_PROBE_PYTHON`` names an interpreter with torch, and
``GRADCOMPAT_PROBE_LAYERS`` folders of packages that go before its own. What has to come out follows from the versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from gradcompat.model.probe import Measurement, ParameterValue, ProbeSpec
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge, wrong_values
from tests.probes.really import LAYERS, NEEDS_TORCH, ran

pytestmark = NEEDS_TORCH

EVERYWHERE: Mapping[str, str] = {}
NOWHERE = {"torch": "<0"}
REGIONS: Mapping[str, ParameterValue] = {"backend": "aot_eager", "through": "accelerate"}
AUTOCAST: Mapping[str, ParameterValue] = {"kernel": "fused_linear_cross_entropy", "reduction": "mean", "autocast": True}

# What is run, and the releases in which it has to show the defect: all that are named have to be such releases.
CASES: tuple[tuple[str, Mapping[str, ParameterValue], Mapping[str, str]], ...] = (
    ("compiled", REGIONS, {"accelerate": ">=1.7.0,<1.15.0"}),
    ("compiled", {**REGIONS, "plant": True}, EVERYWHERE),
    ("model_kernels", {"model": "llama"}, NOWHERE),
    ("model_kernels", {"model": "llama", "mask": "padding"}, NOWHERE),
    ("model_kernels", {"model": "llama", "plant": True}, EVERYWHERE),
    ("model_kernels", {"model": "gemma2"}, {"transformers": ">=4.48.0,<5.21.0"}),
    ("model_kernels", {"model": "gemma2", "attention": "sdpa"}, EVERYWHERE),
    ("model_kernels", {"model": "gemma2", "attention": "eager"}, NOWHERE),
    ("model_kernels", {"model": "vaultgemma"}, {"transformers": "<5.21.0"}),
    ("model_kernels", {"model": "mllama", "attention": "sdpa"}, EVERYWHERE),
    ("model_kernels", {"model": "glm4v_vision", "attention": "sdpa"}, NOWHERE),
    ("model_kernels", {"model": "glm4v_vision", "attention": "eager"}, {"transformers": "<4.53.1"}),
    ("model_kernels", {"model": "qwen2_vl_vision", "attention": "sdpa"}, NOWHERE),
    ("model_kernels", {"model": "qwen2_vl_vision", "attention": "eager", "plant": True}, EVERYWHERE),
    ("half_attention", {}, NOWHERE),
    ("half_attention", {"dtype": "float16", "tokens": 256, "mask": "causal"}, NOWHERE),
    ("half_attention", {"mask": "none"}, NOWHERE),
    ("half_attention", {"plant": True}, EVERYWHERE),
    ("liger_kernels", {"kernel": "cross_entropy"}, {"liger_kernel": "<0.5.9"}),
    ("liger_kernels", {"kernel": "cross_entropy", "reduction": "mean"}, NOWHERE),
    ("liger_kernels", {"kernel": "cross_entropy", "reduction": "mean", "plant": True}, EVERYWHERE),
    ("liger_kernels", {"kernel": "fused_linear_cross_entropy"}, {"liger_kernel": "<0.8.2"}),
    ("liger_kernels", AUTOCAST, {"liger_kernel": ">=0.5.0,<0.5.3"}),
    ("part_imports", {"module": "torchtune.training"}, {"torchtune": ">=0.3.1", "torchao": ">=0.16.0"}),
    (
        "part_imports",
        {"module": "liger_kernel.transformers.monkey_patch"},
        {"liger_kernel": "<0.5.10", "transformers": ">=4.52.0"},
    ),
)
SPECS = tuple(ProbeSpec(name=name, parameters=parameters) for name, parameters, _ in CASES)


@pytest.fixture(scope="module")
def measured() -> Mapping[str, Measurement]:
    """All of them, in one process as far as each leaves it as it was."""
    return ran(SPECS)


@pytest.mark.parametrize(
    ("spec", "where"), [(spec, where) for spec, (_, _, where) in zip(SPECS, CASES, strict=True)], ids=str
)
def test_a_defect_shows_where_it_is_and_nowhere_else(
    spec: ProbeSpec, where: Mapping[str, str], measured: Mapping[str, Measurement]
) -> None:
    measurement = measured[str(spec)]
    outcome, reason = judge(recipe_of(spec), measurement)
    if outcome == "skipped":
        pytest.skip(reason)
    affected = all(
        SpecifierSet(wanted).contains(_version(package, measurement), prereleases=True)
        for package, wanted in where.items()
    )
    assert outcome == ("reproduced" if affected else "not_reproduced"), (reason, measurement.output)


def _version(package: str, measurement: Measurement) -> str:
    """As the module says, or, where it gives no reason, as its folder is called: ``liger-kernel-0.8.1``."""
    named = (folder.name.rpartition("-") for folder in LAYERS)
    return measurement.packages.get(package) or {name.replace("-", "_"): version for name, _, version in named}[package]


PART = ProbeSpec(name="part_imports", parameters={"module": "torchtune.training"})


@pytest.mark.parametrize(
    ("part", "outcome", "values"),
    [
        ("import torch\n", "not_reproduced", ()),
        ("from torch.nn import int4_weight_only\n", "reproduced", ("imported",)),
        ("raise RuntimeError('an operator does not exist')\n", "reproduced", ("imported",)),
        (None, "reproduced", ("imported",)),
    ],
    ids=["whole", "renamed", "operator", "missing"],
)
def test_a_part_that_the_package_hides_is_found(
    tmp_path: Path, part: str | None, outcome: str, values: tuple[str, ...]
) -> None:
    package = tmp_path / "torchtune"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '0'\n", "utf-8")
    if part is not None:
        (package / "training.py").write_text(part, "utf-8")
    measurement = ran((PART,), (tmp_path,))[str(PART)]
    recipe = recipe_of(PART)
    assert (judge(recipe, measurement)[0], wrong_values(recipe, measurement)) == (outcome, values)


def test_a_package_that_cannot_be_imported_at_all_is_no_defect_of_its_part(tmp_path: Path) -> None:
    (tmp_path / "torchtune.py").write_text("raise RuntimeError('needs another torch')\n", "utf-8")
    measurement = ran((PART,), (tmp_path,))[str(PART)]
    assert judge(recipe_of(PART), measurement) == ("inconclusive", "RuntimeError: needs another torch")


def test_a_package_that_is_not_there_is_skipped(tmp_path: Path) -> None:
    if any((folder / "torchtune").is_dir() for folder in LAYERS):
        pytest.skip("it is among the layers")
    measurement = ran((PART,), (tmp_path,))[str(PART)]
    assert judge(recipe_of(PART), measurement) == ("skipped", "there is no module `torchtune`")

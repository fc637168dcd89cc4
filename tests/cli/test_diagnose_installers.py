"""What ``gradcompat diagnose`` says of installs that fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Run


def told(run: Run, text: str) -> list[dict[str, Any]]:
    outcome = run("diagnose", "-", "--format", "json", stdin=text)
    data = json.loads(outcome.out)
    assert data["unexplained"] == []
    diagnoses: list[dict[str, Any]] = data["diagnoses"]
    return diagnoses


def test_what_is_installed_beside_packages_that_ask_for_another(run: Run) -> None:
    (first,) = told(
        run,
        "torchvision 0.14.1+cu116 requires torch==1.13.1, but you have torch 2.0.0 which is incompatible.\n"
        "torchaudio 0.13.1+cu116 requires torch==1.13.1, but you have torch 2.0.0 which is incompatible.\n",
    )
    assert first["title"] == (
        "torch 2.0.0 is installed, and torchvision 0.14.1+cu116 takes ==1.13.1, torchaudio 0.13.1+cu116 takes ==1.13.1"
    )
    assert first["settles"] == [
        "whether it goes away with torchvision ==0.15.1, which takes torch 2.0.0",
        "whether it goes away with torchaudio ==2.0.1, which takes torch 2.0.0",
        "whether it goes away with torch ==1.13.1, which all of them take",
    ]


def test_packages_that_no_one_release_suits(run: Run) -> None:
    (first,) = told(
        run,
        "torchvision 0.14.1 requires torch==1.13.1, but you have torch 2.1.0 which is incompatible.\n"
        "torchaudio 2.0.1 requires torch==2.0.0, but you have torch 2.1.0 which is incompatible.\n",
    )
    assert first["settles"][-1] == "no release of torch is one that all of them take: one of them has to move, too"


def test_what_is_left_broken_counts_as_what_is_installed(run: Run) -> None:
    titles = [
        one["title"]
        for one in told(
            run,
            "torchvision 0.17.0 requires torch==2.2.0, but you have torch 2.4.0 which is incompatible.\n"
            "RuntimeError: operator torchvision::nms does not exist\n",
        )
    ]
    assert "Importing torchvision fails: operator torchvision::nms does not exist" in titles


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "The conflict is caused by:\n"
            "    The user requested transformers==4.30.0\n"
            "    trl 0.9.6 depends on transformers>=4.31.0\n",
            "No release of transformers is what both ask for: the requirements ==4.30.0 and trl 0.9.6 >=4.31.0",
        ),
        (
            "  × No solution found when resolving dependencies:\n"
            "  ╰─▶ Because vllm==0.6.3 depends on torch==2.4.0 and you require vllm==0.6.3, we can conclude that you\n"
            "      require torch==2.4.0.\n"
            "      And because you require torch==2.5.0, we can conclude that your requirements are unsatisfiable.\n",
            "No release of torch is what both ask for: vllm 0.6.3 ==2.4.0 and the requirements ==2.5.0",
        ),
    ],
)
def test_two_who_cannot_both_have_their_way(run: Run, text: str, title: str) -> None:
    (first,) = told(run, text)
    assert first["title"] == title
    assert first["settles"]


def test_requirements_that_some_release_meets_are_no_conflict(run: Run) -> None:
    text = "The conflict is caused by:\n    The user requested torch==2.4.0\n    vllm 0.6.3 depends on torch==2.4.0\n"
    assert told(run, text) == []


def test_several_releases_of_one_package_are_alternatives(run: Run) -> None:
    text = (
        "The conflict is caused by:\n"
        "    The user requested torch==2.4.0\n"
        "    vllm 0.6.3 depends on torch==2.4.0\n"
        "    vllm 0.6.2 depends on torch==2.3.0\n"
    )
    assert told(run, text) == []


@pytest.mark.parametrize(
    ("requirement", "versions", "title"),
    [
        (
            "torch==1.8.1",
            "1.13.0, 1.13.1, 2.0.0",
            "No file of torch ==1.8.1 is for this Python and machine, and there is none to build it from",
        ),
        ("torch", "none", "No file of any torch is for this Python and machine, and there is none to build it from"),
        ("torch==1.15.0", "1.13.0, 1.13.1", "There is no release 1.15.0 of torch"),
        (
            "torch==1.11.0+cu113",
            "1.11.0, 1.12.0",
            "Builds of torch with a label such as +cu113 are on no index that was asked",
        ),
    ],
)
def test_releases_that_pip_does_not_find(run: Run, requirement: str, versions: str, title: str) -> None:
    text = f"ERROR: Could not find a version that satisfies the requirement {requirement} (from versions: {versions})\n"
    (first,) = told(run, text)
    assert first["title"] == title


def test_a_source_that_could_be_built_is_no_matter_of_python(run: Run) -> None:
    text = "ERROR: Could not find a version that satisfies the requirement flash-attn==2.5.8 (from versions: 2.5.7)\n"
    assert told(run, text) == []


BUILD = """\
  × Getting requirements to build wheel did not run successfully.
  │ exit code: 1
  ╰─> [20 lines of output]
      Traceback (most recent call last):
        File "<string>", line 22, in <module>
      ModuleNotFoundError: No module named '{}'
      [end of output]
"""


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (BUILD.format("torch"), "pip and uv build in an environment of its own"),
        (BUILD.format("pkg_resources"), "setup.py imports pkg_resources"),
        (
            "  × Failed to build `flash-attn==2.8.1`\n"
            "      [stderr]\n"
            "      Traceback (most recent call last):\n"
            "      ModuleNotFoundError: No module named 'torch'\n",
            "pip and uv build in an environment of its own",
        ),
        (
            "RuntimeError:\n"
            "The detected CUDA version (11.8) mismatches the version that was used to compile\n"
            "PyTorch (12.4). Please make sure to use the same CUDA versions.\n",
            "nvcc on this machine is of another CUDA",
        ),
        (
            "RuntimeError: \n\n        CUDA Setup failed despite GPU being available. Please run the following\n",
            "bitsandbytes has no library for this CUDA release",
        ),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_89'\n", "nvcc on this machine is older than the GPU"),
        ("ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'\n", "The ptxas that Triton uses"),
        (
            "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory\n",
            "A compiled library was built for another CUDA release",
        ),
    ],
)
def test_builds_and_libraries_that_do_not_fit_the_machine(run: Run, text: str, title: str) -> None:
    first, *_ = told(run, text)
    assert first["title"].startswith(title)


def test_a_module_that_is_missing_outside_of_a_build_is_no_matter_of_builds(run: Run) -> None:
    outcome = run("diagnose", "-", "--format", "json", stdin="ModuleNotFoundError: No module named 'torch'\n")
    assert json.loads(outcome.out)["diagnoses"] == []


def test_the_last_of_several_modules_that_were_loaded_for_each_other_has_failed(run: Run) -> None:
    because = "because of the following error (look up to see its traceback):"
    (first,) = told(
        run,
        f"RuntimeError: Failed to import trl.trainer.grpo_trainer {because}\n"
        f"Failed to import trl.trainer.callbacks {because}\n"
        "cannot import name 'TRANSFORMERS_CACHE' from 'transformers.utils.hub' (/x/transformers/utils/hub.py)\n",
    )
    assert "has no transformers.utils.hub.TRANSFORMERS_CACHE" in first["title"]


def test_old_releases_that_ask_for_less_are_no_way_out(run: Run) -> None:
    """transformers 4.16 and 4.17 take every later tokenizers by what they require, and do not import with it."""
    (first,) = told(
        run,
        "The conflict is caused by:\n    The user requested tokenizers==0.19.1\n"
        "    transformers 4.49.0 depends on tokenizers<0.22 and >=0.21\n",
    )
    assert (
        "whether it goes away with transformers >=4.40.0,<4.45.0, which takes tokenizers ==0.19.1" in first["settles"]
    )

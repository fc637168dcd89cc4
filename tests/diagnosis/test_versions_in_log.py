"""Lines of installers and libraries, each as it was printed; and sentences that speak of versions and state none."""

from __future__ import annotations

import pytest

from gradcompat.diagnosis.versions_in_log import Pins, Rows, installed, stated


@pytest.mark.parametrize(
    ("line", "pins"),
    [
        (
            "Successfully installed nvidia-cublas-cu12-12.4.5.8 torch-2.5.1+cu124 typing_extensions-4.12.2 "
            "vllm-0.6.4.post1",
            Pins(
                ("nvidia-cublas-cu12==12.4.5.8", "torch==2.5.1+cu124", "typing-extensions==4.12.2", "vllm==0.6.4.post1")
            ),
        ),
        ("#12 45.61 Successfully installed peft-0.14.0", Pins(("peft==0.14.0",))),
        (
            "Requirement already satisfied: torch==2.8.0 in /usr/lib/python3.11 (from vllm==0.13.0) (2.8.0+cpu)",
            Pins(("torch==2.8.0+cpu",)),
        ),
        (
            "    Requirement already satisfied: accelerate[deepspeed]>=1.0,<2 in ./venv/lib (1.4.0)",
            Pins(("accelerate==1.4.0",)),
        ),
        ("Requirement already satisfied: torch==2.5.1 in /opt/lib", Pins(("torch==2.5.1",))),
        ("  Successfully uninstalled transformers-4.48.3", Pins(gone=("transformers==4.48.3",))),
        (" + transformers==4.49.0", Pins(("transformers==4.49.0",))),
        (" - transformers==4.48.3", Pins(gone=("transformers==4.48.3",))),
        (" ~ trl==0.15.0 (from file:///src/trl)", Pins(("trl==0.15.0",))),
    ],
)
def test_installers(line: str, pins: Pins) -> None:
    assert installed(line) == pins


@pytest.mark.parametrize(
    "line",
    [
        "Successfully installed transformers-4.49.0, see the notes",
        "Successfully installed the driver",
        "Requirement already satisfied: torch>=2.0 in /opt/lib",
        "Requirement already satisfied: the loss is finite",
        "Collecting torch==2.5.1",
        "Downloading torch-2.5.1-cp310-cp310-manylinux1_x86_64.whl (797.1 MB)",
        "+ pip install torch==2.5.1",
        "+transformers==4.49.0",
        " + transformers==4.49.0 is what you need",
    ],
)
def test_what_no_installer_has_done(line: str) -> None:
    assert installed(line) is None


@pytest.mark.parametrize(
    ("line", "pins"),
    [
        ("[INFO] [setup] Transformers version 4.49.0", ("transformers==4.49.0",)),
        ("2026-01-02 10:00:00 - INFO - Using PyTorch version: 2.5.1+cu124", ("torch==2.5.1+cu124",)),
        ("INFO:datasets:PyTorch version 2.5.1 available.", ("torch==2.5.1",)),
        ("DeepSpeed version is 0.16.4", ("deepspeed==0.16.4",)),
        ("torch.__version__ = 2.5.1+cu124", ("torch==2.5.1+cu124",)),
        ("[rank] transformers.__version__: '4.50.0.dev0'", ("transformers==4.50.0.dev0",)),
        ("NCCL version 2.21.5+cuda12.4", ("torch nccl version: 2.21.5",)),
        ("node1:123:456 [0] NCCL INFO NCCL version 2.20.5+cuda12.4", ("torch nccl version: 2.20.5",)),
        ("wandb: Tracking run with wandb version 0.19.6", ("wandb==0.19.6",)),
        (
            "INFO 02-20 10:00:00 llm_engine.py:234] Initializing a V0 LLM engine (v0.7.2) with config: model='x'",
            ("vllm==0.7.2",),
        ),
        (
            "==((====))==  Unsloth 2025.2.12: Fast Llama patching. Transformers: 4.48.3.",
            ("unsloth==2025.2.12", "transformers==4.48.3"),
        ),
        (
            "==((====))==  Unsloth 2024.8: Fast Llama patching. Transformers = 4.44.2.",
            ("unsloth==2024.8", "transformers==4.44.2"),
        ),
        (r"O^O/ \_/ \    Torch: 2.5.1+cu124. CUDA: 8.0. CUDA Toolkit: 12.4. Triton: 3.1.0", ("torch==2.5.1+cu124",)),
        (r"O^O/ \_/ \    Pytorch: 2.4.0. CUDA = 8.9. CUDA Toolkit = 12.1.", ("torch==2.4.0",)),
        ("    PyTorch: 2.1.2+cu121", ("torch==2.1.2+cu121",)),
        ("    MMEngine: 0.10.3", ("mmengine==0.10.3",)),
        (
            "Lightning automatically upgraded your loaded checkpoint from v1.9.0 to v2.1.3. To apply the upgrade to "
            "your files permanently, run `python -m pytorch_lightning.utilities.upgrade_checkpoint x.ckpt`",
            ("pytorch-lightning==2.1.3",),
        ),
    ],
)
def test_what_libraries_print(line: str, pins: tuple[str, ...]) -> None:
    assert stated(line) == pins


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: this needs transformers version 4.49.0",
        "Please upgrade to: Transformers version 4.49.0",
        "WARNING: The model was saved with: transformers version 4.40.1",
        "we recommend Transformers version 4.49.0",
        "In Transformers version 4.49.0 the default changes",
        "Transformers version 4.49.0 or later is what we tested",
        "the minimum: torch version 2.1.0",
        "INFO: torch version 2",
        "wandb: wandb version 0.19.7 is available!  To upgrade, please run:",
        "It was compiled with NCCL version 2.29.2, but is",
        "Use NCCL version 2.27.5 which has the fix",
        "it was compiled with NCCL version 2.29.2",
        "PyTorch: 2.1.2 is what the paper used",
        "CUDA version 12.4",
        "my_module.__version__: 1.2.3",
        'if version.parse(torch.__version__) >= version.parse("2.1.0"):',
        "dataset: format version 1.2.3",
        "Lightning automatically upgraded your loaded checkpoint from v1.9.0 to v2.1.3.",
    ],
)
def test_prose_states_nothing(line: str) -> None:
    assert stated(line) == ()


def rows(*lines: str) -> list[tuple[int, str]]:
    kept: list[tuple[int, str]] = []
    found = Rows(lambda number, text: kept.append((number, text)))
    for number, line in enumerate(lines, start=1):
        found.see(number, line)
    return kept


def test_a_list_whose_head_is_cut_off() -> None:
    assert rows(
        "starlette                         0.41.3",
        "torch                             2.5.1",
        "trainer-demo                      0.1       /src/trainer-demo",
        "trl                               0.9.6",
        "done",
        "zipp                              3.21.0",
    ) == [(1, "starlette==0.41.3"), (2, "torch==2.5.1"), (3, "trainer-demo==0.1"), (4, "trl==0.9.6")]


def test_a_freeze() -> None:
    assert rows("accelerate==1.4.0", "torch==2.5.1+cu124", "zipp==3.21.0") == [
        (1, "accelerate==1.4.0"),
        (2, "torch==2.5.1+cu124"),
        (3, "zipp==3.21.0"),
    ]


def test_a_list_of_conda() -> None:
    assert rows(
        "pytorch                   2.5.1           py3.11_cuda12.4_cudnn9.1.0_0    pytorch",
        "torchmetrics              1.4.0                    pypi_0    pypi",
        "transformers              4.49.0             pyhd8ed1ab_0    conda-forge",
    ) == [
        (1, "[conda] pytorch 2.5.1 py3.11_cuda12.4_cudnn9.1.0_0 pytorch"),
        (2, "torchmetrics==1.4.0"),
        (3, "[conda] transformers 4.49.0 pyhd8ed1ab_0 conda-forge"),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ("torch==2.5.1", "transformers==4.49.0"),  # two are somebody's advice
        ("torch==2.5.1", "", "transformers==4.49.0", "trl==0.9.6"),
        ("torch   1.23 s", "transformers   2.51 s", "trl   0.91 s"),
        ("accelerate  2.51", "deepspeed   0.91", "torch       1.23"),  # seconds
        ("torch  2.5.1", "transformers  4.49.0", "trl  0.9.6"),  # not in one column
        ("alpha  1.2.3", "betas  1.2.3", "gamma  1.2.3"),  # nothing that trains
    ],
)
def test_rows_of_something_else(lines: tuple[str, ...]) -> None:
    assert rows(*lines) == []


def test_lists_of_libraries() -> None:
    assert rows(
        "### Framework versions",
        "",
        "- TRL: 0.15.1",
        "- Transformers 4.49.0",
        "- Pytorch 2.5.1+cu124",
        "- Unheardof 1.2.3",
        "and so on",
        "- Tokenizers 0.21.0",
    ) == [(3, "trl==0.15.1"), (4, "transformers==4.49.0"), (5, "torch==2.5.1+cu124")]
    assert rows(
        "**** Axolotl Dependency Versions *****",
        "  accelerate: 1.3.0         ",
        "transformers: 4.49.0        ",
        "       torch: 2.5.1+cu124   ",
        "bitsandbytes: N/A           ",
        "****************************************",
    ) == [(2, "accelerate==1.3.0"), (3, "transformers==4.49.0"), (4, "torch==2.5.1+cu124")]


def test_what_pip_show_prints() -> None:
    """The version stands in the next line, and nothing else that has a name and a version."""
    kept: list[tuple[int, str]] = []
    rows = Rows(lambda number, pin: kept.append((number, pin)))
    lines = ["Name: torch", "Version: 2.5.1", "Summary: Tensors", "Name: run-7", "Started: now", "Version: 3.0.0"]
    lines += ["Name: PyYAML", "Version: 6.0.2"]
    for number, line in enumerate(lines, start=1):
        rows.see(number, line)
    assert kept == [(2, "torch==2.5.1"), (8, "pyyaml==6.0.2")]

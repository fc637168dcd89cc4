"""Errors behind the prefixes of launchers, loggers and test runners."""

from __future__ import annotations

import pytest

from gradcompat.diagnosis.error_lines import KINDS, error_in, is_echo, kind_in_build, kind_of
from gradcompat.diagnosis.explanations import ERRORS, EXPLANATIONS
from gradcompat.diagnosis.lines import cleaned

ERROR = "RuntimeError: it stopped"


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[rank0]: ",
        "[default0]:",
        "[default0]:[rank0]: ",
        "(worker1, rank=1) [rank13]: ",
        "(pid=123) ",
        "(RayTrainWorker pid=123, ip=10.0.0.1) [rank2]: ",
        "0: ",
        "12: [rank12]: ",
        "node-3: [rank3]: ",
        "[1,3]<stderr>:",
        "E   ",
        "E           ",
        "[rank0]: E   ",
        "2025-01-02 03:04:05,678 - ERROR - ",
        "2025-01-02T03:04:05.678Z ",
        "2025-01-02 03:04:05 | ERROR | ",
        "[2025-01-02 03:04:05,678] [ERROR] ",
        "[2025-01-02 03:04:05,678] [ERROR] [launch.py:325:sigkill_handler] ",
        "[rank1]: [2025-01-02 03:04:05,678] [ERROR] ",
        "03:04:05 ERROR ",
        "10/30 22:18:02 - mmengine - ERROR - ",
        "(EngineCore_DP0 pid=4343) ERROR 08-29 10:18:10 [core.py:459] ",
        "ERROR:root:",
        "ERROR: ",
        "2025-01-02 03:04:05,678 - __main__ - ERROR - ",
    ],
)
def test_a_prefix_is_taken_off(prefix: str) -> None:
    assert error_in(cleaned(f"{prefix}{ERROR}".encode())) == ERROR


@pytest.mark.parametrize(
    "line",
    [
        "E   RuntimeError is what it raises",
        "    raise RuntimeError('no')",
        "except ValueError: pass",
        "[rank0]: the Error",
        "2025-01-02 03:04:05,678 - ERROR - it failed",
        "a sentence that ends with ValueError: no",
        "x" * 100_000 + " RuntimeError: no",
        "[" * 5_000 + "RuntimeError: no",
    ],
)
def test_other_lines_are_no_errors(line: str) -> None:
    assert error_in(cleaned(line.encode())) is None


def test_an_exception_of_no_narrower_class_is_an_error_if_it_says_something() -> None:
    error = "Exception: data did not match any variant of untagged enum ModelWrapper at line 250 column 3"
    assert error_in(error) == error
    assert error_in("Exception ignored in: <function Pool.__del__>") is None
    assert error_in("Exception: ") is None


def test_crashes_without_an_exception() -> None:
    assert error_in("Fatal Python error: Aborted") == "Fatal Python error: Aborted"
    assert error_in("Segmentation fault (core dumped)") == "Segmentation fault (core dumped)"


def test_what_an_error_says() -> None:
    assert is_echo("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:")
    assert kind_of("NameError: name 'nanometre' is not defined") is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (
            "RuntimeError: Unexpected result nan (message='found NaN in local grad norm for bucket #0')",
            "error-not-finite",
        ),
        ("RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.", "error-not-finite"),
        ("TypeError: Mine.log() takes 2 positional arguments but 3 were given", "outdated-signature"),
        ("TypeError: blog() takes 2 positional arguments but 3 were given", None),
        (
            "Exception: data did not match any variant of untagged enum PyPreTokenizerTypeWrapper",
            "newer-tokenizer-file",
        ),
        ("ValueError: data did not match any variant of untagged enum Config at line 3 column 1", None),
        (
            "TypeError: MistralForCausalLM.forward() got an unexpected keyword argument 'token_type_ids'",
            "untaken-column",
        ),
        ("TypeError: forward() got an unexpected keyword argument 'labels'", None),
        (
            "ValueError: text input must be of type `str` (single example), `List[str]` (batch or single pretokenized "
            "example) or `List[List[str]]` (batch of pretokenized examples).",
            "no-list-of-texts",
        ),
        ("ValueError: text input must be a string", None),
        (
            "ImportError: /venv/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so: undefined symbol: "
            "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
            "extension-of-other-torch",
        ),
        (
            "OSError: /venv/torch_scatter/_version_cuda.so: undefined symbol: _ZN2at6detail9maybeThrowEv",
            "extension-of-other-torch",
        ),
        (
            "ImportError: /venv/fused.so: undefined symbol: _ZNK2at10TensorBase8data_ptrIfEEPT_v",
            "extension-of-other-torch",
        ),
        ("ImportError: /venv/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister", None),
        ("ImportError: /venv/own.so: undefined symbol: _Z7forwardN2at6TensorE", None),
        ("ImportError: /venv/x.so: undefined symbol: _ZN4atom6detail9maybeThrowEv", None),
        (
            "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, "
            "got 88 from PyObject",
            "extension-of-other-numpy",
        ),
        ("ValueError: pandas.Index size changed, may indicate binary incompatibility.", None),
        (
            "AttributeError: `np.complex_` was removed in the NumPy 2.0 release. Use `np.complex128` instead.",
            "gone-from-numpy",
        ),
        ("AttributeError: module 'numpy' has no attribute 'float'.", "gone-from-numpy"),
        ("AttributeError: module 'numpy' has no attribute 'floats'", None),
        ("TypeError: Descriptors cannot be created directly.", "older-protobuf-code"),
        ("TypeError: Descriptors cannot not be created directly.", "older-protobuf-code"),
    ],
)
def test_errors_that_explain_themselves(error: str, kind: str | None) -> None:
    assert kind_of(error) == kind


def test_each_kind_has_an_explanation() -> None:
    told = {*KINDS, "build-without-module", "build-without-pkg-resources"}
    assert told == set(ERRORS)
    assert set(ERRORS) <= set(EXPLANATIONS)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("ModuleNotFoundError: No module named 'torch'", "build-without-module"),
        ("ModuleNotFoundError: No module named 'pkg_resources'", "build-without-pkg-resources"),
        ("OSError: CUDA_HOME environment variable is not set. Please set it", "no-cuda-home"),
        ("ValueError: no", None),
    ],
)
def test_a_build_lacks_modules_that_the_run_may_have(error: str, kind: str | None) -> None:
    assert kind_in_build(error) == kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("AttributeError: 'MessageFactory' object has no attribute 'GetPrototype'", "newer-protobuf"),
        (
            "Exception: Installed CUDA version 11.0 does not match the version torch was compiled with 10.1",
            "other-nvcc",
        ),
        ("ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by x.so)", "older-libstdcxx"),
        ("ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found", "older-glibc"),
        ("ImportError: libGL.so.1: cannot open shared object file: No such file", "no-graphics-library"),
        ("OSError: /x/libbitsandbytes_cpu.so: cannot open shared object file: no", "bitsandbytes-without-library"),
        ("PydanticUserError: A non-annotated attribute was detected: `x = 1`", "older-pydantic-code"),
        (
            "RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA versions.",
            "companion-of-other-cuda",
        ),
        ("AttributeError: 'XModel' object has no attribute 'all_tied_weights_keys'", "older-model-code"),
        (
            "ImportError: transformers>=4.45.0,<=4.51.3 is required for a normal functioning of this module, but found "
            "transformers==4.52.0.",
            "refused-release",
        ),
        ("ModuleNotFoundError: No module named 'torch._six'", "gone-from-torch"),
        ("ModuleNotFoundError: No module named 'mmcv._ext'", "without-built-ops"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "mixed-cudnn"),
        ("OSError: libmine.so.1: cannot open shared object file: No such file", None),
        ("ModuleNotFoundError: No module named 'torch'", None),
    ],
)
def test_errors_of_the_machine_and_of_older_code_explain_themselves(error: str, kind: str | None) -> None:
    assert kind_of(error) == kind

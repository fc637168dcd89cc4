"""The last line of a traceback, whatever a launcher, a logger or a test runner prints before it."""

from __future__ import annotations

import re

from gradcompat.startup.lazy_patterns import lazy_pattern

# Each is a literal that stands in every line that this module takes for an error or for the head of a traceback.
ERROR_ANCHORS = (b"Error", b"Exception", b"Segmentation fault", b"Fatal Python error", b"nvcc fatal", b"ptxas fatal")
TRACEBACK_ANCHOR = b"Traceback (most recent call last)"

_LONGEST_PREFIX = 400

_ERROR = lazy_pattern(
    r"(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception)(?:: \S.*|:?)"
    r"|Exception: \S.*|Fatal Python error: \S.*|Segmentation fault(?: \(core dumped\))?"
    r"|(?:nvcc|ptxas) fatal\s{1,4}: \S.*"
)
# pytest's `E   `; a time; a level; the place or the name of a logger.
_PREFIX = lazy_pattern(
    r"(?:E\s{2,20}"
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?\s{0,4}[-:|,]?\s{1,4}"
    r"|\[?(?:\d\d[/-]\d\d )?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?\s{0,4}[-:|,]?\s{1,4}"
    r"|\[?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL)\]?(?::[\w.]{1,60}:|\s{0,8}[-:|]?\s{1,4})"
    r"|\[[\w./-]{1,80}(?::\d{1,6})?(?::[\w<>.]{1,60})?\]\s{1,4}"
    r"|(?:[\w.]{1,80}(?::\d{1,6})?) (?:-|\|) ){1,8}"
)
# They say that another process failed, not why.
_ECHOES = ("ChildFailedError", "CalledProcessError", "RayTaskError", "BrokenPipeError")
_NAN = lazy_pattern(
    r"\bfound (?:nan|inf)\b|\breturned nan values\b|\bunexpected result (?:nan|inf)\b|\bloss is (?:nan|inf)\b"
    r"|\bnan (?:was |is )?(?:found|detected)\b|\bnon-?finite (?:loss|grad|norm)",
    re.IGNORECASE,
)
# What transformers has added to the methods of its Trainer that people override.
_OUTDATED = lazy_pattern(
    r"\b(?:compute_loss\(\) got an unexpected keyword argument 'num_items_in_batch'"
    r"|log\(\) takes 2 positional arguments but 3 were given"
    r"|_get_train_sampler\(\) takes 1 positional argument but 2 were given)"
)
# A column that generic tokenizers make unasked, and a trainer hands to a model of another kind.
_UNTAKEN_COLUMN = lazy_pattern(r"\bforward\(\) got an unexpected keyword argument 'token_type_ids'")
# What a tokenizer of transformers says of anything but a text or a list of them.
_NO_TEXT = lazy_pattern(r"\btext input must be of type `str`")
# How serde of tokenizers names a part of tokenizer.json that its release has no form for.
_NEWER_TOKENIZER = lazy_pattern(r"\bdata did not match any variant of untagged enum \w+Wrapper\b")
# Functions of torch's own namespaces. A function of the extension itself that takes a tensor names them later on.
_TORCH_SYMBOL = lazy_pattern(r"\bundefined symbol: _Z(?:T[IVS])?NK?(?:2at|3c10|5torch|6caffe2)\d")
# The sizes of structures of NumPy that Cython compares, and how NumPy's own interface says the same.
_NUMPY_LAYOUT = lazy_pattern(
    r"\bnumpy\.(?:dtype|ndarray|ufunc)[\w.]* size changed, may indicate binary incompatibility"
    r"|\bmodule compiled against (?:ABI|API) version 0x\w+ but this version of numpy is"
)
# What NumPy 1.24 and 2.0 took away, in their words.
_GONE_FROM_NUMPY = lazy_pattern(
    r"`np\.\w{1,40}` was removed in the NumPy 2\.\d release"
    r"|\bmodule 'numpy' has no attribute "
    r"'(?:float|int|bool|object|str|complex|bool8|object0|int0|uint0|str0|bytes0|void0)'"
)
_OLDER_PROTOBUF_CODE = lazy_pattern(r"\bDescriptors cannot (?:not )?be created directly\b")
# What protobuf 6 took away.
_NEWER_PROTOBUF = lazy_pattern(r"'(?:MessageFactory|SymbolDatabase)' object has no attribute 'GetPrototype'")
# torch.utils.cpp_extension, and DeepSpeed's own check.
_OTHER_NVCC = lazy_pattern(
    r"\bThe detected CUDA version \([\d.]+\) mismatches the version that was used to compile"
    r"|\bInstalled CUDA version [\d.]+ does not match the version torch was compiled with"
)
_NO_CUDA_HOME = lazy_pattern(r"\bCUDA_HOME (?:environment variable is not set|does not exist, unable to compile)")
_OLDER_NVCC = lazy_pattern(r"\bnvcc fatal\s+: (?:Unsupported gpu architecture|Value '(?:sm_|c\+\+)\w+' is not defined)")
_OLDER_PTXAS = lazy_pattern(r"\bptxas fatal\s+: Value 'sm_\w+' is not defined for option 'gpu-name'")
# The libraries of CUDA have the number of their major release in their names.
_OTHER_CUDA_LIBRARY = lazy_pattern(
    r"\blib(?:cudart|cublas|cublasLt|cusparse|cusolver|cufft|curand|nvrtc|nvJitLink|cudnn\w*)\.so\.\d[\d.]*"
    r": cannot open shared object file"
)
_OLDER_LIBSTDCXX = lazy_pattern(r"\blibstdc\+\+\.so\.6: version `(?:GLIBCXX|CXXABI)_[\d.]+' not found")
_OLDER_GLIBC = lazy_pattern(r"\blib[cm]\.so\.6: version `GLIBC_[\d.]+' not found")
_NO_GRAPHICS_LIBRARY = lazy_pattern(
    r"\blib(?:GL|gthread-2\.0|SM|Xext|Xrender)\.so\.\d+: cannot open shared object file"
)
_BITSANDBYTES = lazy_pattern(
    r"\blibbitsandbytes_\w+\.so: cannot open shared object file"
    r"|\bCUDA Setup failed despite (?:GPU|CUDA) being available"
)
# The words in which pydantic 2 refuses what was written for pydantic 1.
_OLDER_PYDANTIC_CODE = lazy_pattern(
    r"\bIf you use `@root_validator` with pre=False \(the default\) you MUST specify"
    r"|`BaseSettings` has been moved to the `pydantic-settings` package|\bA non-annotated attribute was detected: "
    r"|`regex` is removed\. use `pattern` instead"
)
_COMPANION_OF_OTHER_CUDA = lazy_pattern(
    r"\bDetected that PyTorch and (?:torchvision|TorchAudio) were compiled with different CUDA (?:major )?versions"
)
# What each model has from its `post_init` on in transformers 5.
_OLDER_MODEL_CODE = lazy_pattern(r"' object has no attribute 'all_tied_weights_keys'")
# transformers' require_version, which others use, too.
_REFUSED_RELEASE = lazy_pattern(
    r"\b[\w-]+[<>=!~][\w.,<>=!~* -]* is required for a normal functioning of this module, but found [\w-]+=="
    r"|\bThe '[\w-]+[<>=!~][^']{1,200}' distribution was not found and is required by "
)
_MIXED_CUDNN = lazy_pattern(r"\bCUDNN_STATUS_SUBLIBRARY_(?:VERSION_MISMATCH|LOADING_FAILED)\b")
_TORCH_SIX = lazy_pattern(r"\bNo module named 'torch\._six'")
_BUILT_OPS = lazy_pattern(r"\bNo module named 'mmcv\._ext'")
_NO_MODULE = lazy_pattern(r"ModuleNotFoundError: No module named '(\w+)(?:\.\w+)*'")


# The first that matches counts.
KINDS = {
    "error-not-finite": _NAN,
    "newer-tokenizer-file": _NEWER_TOKENIZER,
    "extension-of-other-torch": _TORCH_SYMBOL,
    "extension-of-other-numpy": _NUMPY_LAYOUT,
    "gone-from-numpy": _GONE_FROM_NUMPY,
    "older-protobuf-code": _OLDER_PROTOBUF_CODE,
    "newer-protobuf": _NEWER_PROTOBUF,
    "no-list-of-texts": _NO_TEXT,
    "untaken-column": _UNTAKEN_COLUMN,
    "outdated-signature": _OUTDATED,
    "other-nvcc": _OTHER_NVCC,
    "no-cuda-home": _NO_CUDA_HOME,
    "older-nvcc": _OLDER_NVCC,
    "older-ptxas": _OLDER_PTXAS,
    "other-cuda-library": _OTHER_CUDA_LIBRARY,
    "older-libstdcxx": _OLDER_LIBSTDCXX,
    "older-glibc": _OLDER_GLIBC,
    "no-graphics-library": _NO_GRAPHICS_LIBRARY,
    "bitsandbytes-without-library": _BITSANDBYTES,
    "older-pydantic-code": _OLDER_PYDANTIC_CODE,
    "companion-of-other-cuda": _COMPANION_OF_OTHER_CUDA,
    "older-model-code": _OLDER_MODEL_CODE,
    "refused-release": _REFUSED_RELEASE,
    "mixed-cudnn": _MIXED_CUDNN,
    "gone-from-torch": _TORCH_SIX,
    "without-built-ops": _BUILT_OPS,
}


def error_in(text: str) -> str | None:
    """The error that a line states, without what is printed before it; None if it states none.

    >>> error_in("E   ImportError: cannot import name 'id_tensor_storage'")
    "ImportError: cannot import name 'id_tensor_storage'"
    """
    if _ERROR.fullmatch(text):
        return text
    prefix = _PREFIX.match(text, 0, _LONGEST_PREFIX)
    error = None if prefix is None else text[prefix.end() :]
    return error if error is not None and _ERROR.fullmatch(error) else None


def is_echo(error: str) -> bool:
    """Whether the error says only that another process failed."""
    return any(echo in error for echo in _ECHOES)


def kind_of(error: str) -> str | None:
    """The kind of observation that an error is by itself, as :mod:`explanations` has it."""
    return next((kind for kind, pattern in KINDS.items() if pattern.search(error)), None)


def kind_in_build(error: str) -> str | None:
    """The same of an error of a package that is being built."""
    match = _NO_MODULE.fullmatch(error)
    if match is None:
        return kind_of(error)
    return "build-without-pkg-resources" if match[1] == "pkg_resources" else "build-without-module"

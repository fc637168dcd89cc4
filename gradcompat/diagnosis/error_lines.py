"""The last line of a traceback, whatever a launcher, a logger or a test runner prints before it."""

from __future__ import annotations

import re

from gradcompat.lazy_patterns import lazy_pattern

# Each is a literal that stands in every line that this module takes for an error or for the head of a traceback.
ERROR_ANCHORS = (b"Error", b"Exception", b"Segmentation fault", b"Fatal Python error")
TRACEBACK_ANCHOR = b"Traceback (most recent call last)"

_LONGEST_PREFIX = 400

_ERROR = lazy_pattern(
    r"(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception)(?:: \S.*|:?)"
    r"|Exception: \S.*|Fatal Python error: \S.*|Segmentation fault(?: \(core dumped\))?"
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
    if _NAN.search(error):
        return "error-not-finite"
    if _NEWER_TOKENIZER.search(error):
        return "newer-tokenizer-file"
    for pattern, kind in (
        (_TORCH_SYMBOL, "extension-of-other-torch"),
        (_NUMPY_LAYOUT, "extension-of-other-numpy"),
        (_GONE_FROM_NUMPY, "gone-from-numpy"),
        (_OLDER_PROTOBUF_CODE, "older-protobuf-code"),
        (_NO_TEXT, "no-list-of-texts"),
    ):
        if pattern.search(error):
            return kind
    if _UNTAKEN_COLUMN.search(error):
        return "untaken-column"
    return "outdated-signature" if _OUTDATED.search(error) else None

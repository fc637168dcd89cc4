"""Words that all grammars share: names, versions, ranges, markers, URLs, and what breaks parsers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from fuzz.canaries import CANARIES

Item = TypeVar("Item")
Grammar = Callable[[Random], str]

PACKAGES = (
    *("torch", "transformers", "accelerate", "deepspeed", "peft", "trl", "bitsandbytes", "numpy", "flash-attn"),
    *("pytorch-lightning", "lightning", "torchvision", "tokenizers", "datasets", "liger-kernel", "jax", "keras"),
    *("vllm", "xformers", "triton", "safetensors", "huggingface_hub", "Sentence.Transformers", "nvidia-nccl-cu12"),
)
SEPARATORS = ("\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029")
# What parsers, terminals, logs of CI jobs and report formats are known to stumble over.
ODD = (
    *("\x00", "\x1b[31m", "\x1b]8;;http://h\x07", "\u202e", "\ufeff", "\ud7ff", "\U0010ffff", "\x7f", "\x9b31m"),
    *("::error::x", "##[error]x", "]]>", "<script>alert(1)</script>", "`|`", "](http://h)", "@team", "%0A::warning::"),
    *("${jndi:x}", "$(id)", "{{ x }}", "%s%n", "../../etc/passwd", "\\", "'", '"', '"""', "'''", "#", " #", "&a", "*a"),
    *("!!python/object/apply:os.system", "<<: *a", "null", "NaN", "Infinity", "1e999", "-0", "0x10", "1_000", "٣", "²"),
    *("a" * 300, "x." * 200, "é" * 300, "9" * 5000),
)
NUMBERS = (
    "0",
    "1",
    "-1",
    "8",
    "1e400",
    "-1e-400",
    "9" * 30,
    "9" * 4400,
    "0.1",
    "1_0",
    "0b1",
    ".inf",
    ".nan",
    "NaN",
    "٣",
)
_MARKER_NAMES = (
    *("python_version", "python_full_version", "sys_platform", "platform_machine", "os_name", "extra"),
    *("implementation_name", "platform_release", "platform_python_implementation", "platform_system"),
)
_MARKER_VALUES = (
    "3.8",
    "3.10",
    "3.12.1",
    "linux",
    "win32",
    "darwin",
    "x86_64",
    "arm64",
    "nt",
    "posix",
    "cpython",
    "gpu",
)


def pick(random: Random, items: Sequence[Item]) -> Item:
    """One of the items."""
    return items[int(random.random() * len(items))]


def chance(random: Random, probability: float) -> bool:
    """True that often."""
    return random.random() < probability


def one_of(*grammars: Grammar) -> Grammar:
    """A grammar that is one of these each time."""
    return lambda random: pick(random, grammars)(random)


def amount(random: Random, usual: int = 6) -> int:
    """How many there are: few, now and then dozens, rarely thousands."""
    draw = random.random()
    if draw < 0.97:
        return int(random.random() * (usual + 1))
    if draw < 0.998:
        return int(random.random() * 120)
    return int(random.random() * 3000)


def many(random: Random, grammar: Grammar, separator: str = "", usual: int = 6) -> str:
    """The grammar as often as :func:`amount` says."""
    return separator.join(grammar(random) for _ in range(amount(random, usual)))


def odd(random: Random) -> str:
    """Something that breaks parsers."""
    return pick(random, ODD) if chance(random, 0.8) else pick(random, SEPARATORS)


def name(random: Random) -> str:
    """The name of a package; of one that records speak of, as a rule."""
    draw = random.random()
    if draw < 0.85:
        return pick(random, PACKAGES)
    if draw < 0.95:
        return f"package-{int(random.random() * 50)}"
    return pick(random, PACKAGES) + odd(random)


def version(random: Random) -> str:
    """A version, now and then a strange one."""
    draw = random.random()
    if draw < 0.9:
        numbers = ".".join(str(int(random.random() * 60)) for _ in range(1 + int(random.random() * 3)))
        return numbers + pick(
            random, ("",) * 6 + ("rc1", ".dev0", ".post1", "+cu121", "a0+1234abc.nv25.1", "+git1234abc")
        )
    return pick(random, ("", "*", "2.*", "1!2.0", "latest", "v2.5", "2,5", *NUMBERS)) if draw < 0.97 else odd(random)


def clause(random: Random) -> str:
    """One operator and its version."""
    return pick(random, ("==", ">=", "<=", "<", ">", "!=", "~=", "===", "==", "^", "~", "=", "")) + version(random)


def specifier(random: Random) -> str:
    """A range; rarely one of hundreds of clauses."""
    draw = random.random()
    if draw < 0.7:
        return "==" + version(random)
    if draw < 0.97:
        return ",".join(clause(random) for _ in range(1 + int(random.random() * 3)))
    count = pick(random, (100, 100, 1000))
    joint = pick(random, (",", ",", "||", " || ", " "))
    return joint.join(f"!={number}.{number % 7}" + pick(random, ("", ".*")) for number in range(count))


def marker(random: Random, depth: int = 0) -> str:
    """An environment marker, rarely nested a thousand deep."""
    draw = random.random()
    if depth < 4 and draw < 0.25:
        return f"({marker(random, depth + 1)}) {pick(random, ('and', 'or'))} {marker(random, depth + 1)}"
    if depth == 0 and draw < 0.253:
        deep = pick(random, (30, 100, 2000))
        return "(" * deep + "python_version > '3'" + ")" * deep
    if depth == 0 and draw < 0.26:
        return " or ".join(_comparison(random) for _ in range(pick(random, (30, 300))))
    return _comparison(random)


def _comparison(random: Random) -> str:
    operator = pick(random, ("==", "!=", ">=", "<", "in", "not in", "~=", "===", "<="))
    return f"{pick(random, _MARKER_NAMES)} {operator} '{pick(random, _MARKER_VALUES)}'"


def url(random: Random) -> str:
    """An address; half of them have credentials in it."""
    scheme = pick(random, ("https", "http", "git+https", "git+ssh", "file", "ftp", "HTTPS", "hg+http"))
    user = pick(
        random,
        (
            "",
            "",
            f"user:{CANARIES['credentials']}@",
            f"{CANARIES['credentials']}@",
            f"user%40h:{CANARIES['credentials']}@",
            f"__token__:{CANARIES['credentials']}@",
            f"user:p@{CANARIES['credentials']}@",
            f"user:/{CANARIES['credentials']}@",
        ),
    )
    host = pick(random, ("index.example", "index.example:8443", "git.example", "[::1]", "[::1", "", "index.example:x"))
    tail = pick(random, ("/simple", "/a/b.git@v1.0#egg=torch", "/torch-2.5.1-py3-none-any.whl", "/x?y=1", "", "/%zz"))
    return f"{scheme}://{user}{host}{tail}"


def secret_line(random: Random, *, quoted: bool = False) -> str:
    """A line of another kind of file, with a secret in it; quoted where a program could take it for a name."""
    key = pick(random, ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "password", "WANDB_API_KEY", "api_key"))
    if quoted:
        return f'{key} = "{CANARIES["line"]}"'
    # Never as a word of its own: on a continued line of `pip install` that would rightly be taken for a package.
    return pick(
        random, (f"{key}={CANARIES['line']}", f'{key}="{CANARIES["line"]}"', f"export {key}={CANARIES['line']}")
    )


def text(random: Random) -> str:
    """A value where a text is wanted."""
    return pick(random, _TEXTS)(random)


_TEXTS: tuple[Grammar, ...] = (name, name, version, specifier, url, odd, marker)

"""A picture of each pair of the core packages: which of their releases can be imported beside each other."""

from __future__ import annotations

import io
from collections.abc import Iterator

from gradcompat.breaks.pair_matrix import pair_matrix
from gradcompat.breaks.pairs import Pair, pairs_among
from gradcompat.messages import counted
from gradcompat.releases.table import table_of
from gradcompat.renderers import matrix_svg

_FOLDER = "pairs"
CORE = frozenset(
    {
        *("transformers", "accelerate", "peft", "trl", "datasets", "huggingface-hub", "tokenizers", "safetensors"),
        *("diffusers", "sentence-transformers", "bitsandbytes", "torch", "torchvision", "pytorch-lightning"),
        *("torchmetrics", "numpy"),
    }
)


def files() -> Iterator[tuple[str, str]]:
    """The picture of each pair, by its address below the root of the site."""
    for pair in pairs_among(CORE):
        consumer, provider = table_of(pair.consumer), table_of(pair.provider)
        if consumer is not None and provider is not None:
            out = io.StringIO()
            matrix_svg.render(pair_matrix(pair, consumer, provider), out)
            yield _address(pair), out.getvalue()


def listing() -> str:
    """A heading for each pair, with its picture and what is missing in it."""
    lines: list[str] = []
    for pair in pairs_among(CORE):
        lines += ["", f"## {pair.consumer} with {pair.provider}", ""]
        lines += [f"![{pair.consumer} with {pair.provider}]({_address(pair)})", ""]
        for one in pair.breaks:
            missing = [f"`{need.text}` (`{need.file}:{need.line}`)" for need in one.needs[:3]]
            more = f" and {counted(len(one.needs) - 3, 'more name')}" if len(one.needs) > 3 else ""
            lines.append(
                f"* {pair.consumer} {one.consumers} cannot be imported with {pair.provider} {one.providers}: "
                f"it needs {', '.join(missing)}{more}"
            )
    return "\n".join(lines) + "\n"


def _address(pair: Pair) -> str:
    return f"{_FOLDER}/{pair.consumer}-{pair.provider}.svg"

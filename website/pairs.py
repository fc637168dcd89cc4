"""A page for each pair of the core packages: which of their releases can be imported beside each other."""

from __future__ import annotations

import io
from collections.abc import Iterator

from gradcompat.breaks.pair_matrix import pair_matrix
from gradcompat.breaks.pairs import Break, Pair, pairs_among
from gradcompat.messages import counted
from gradcompat.releases.table import ReleaseTable, table_of
from gradcompat.renderers import matrix_svg
from gradcompat.requirements.versions import VersionSet

_FOLDER = "pairs"
_SHOWN = 3
CORE = frozenset(
    {
        *("transformers", "accelerate", "peft", "trl", "datasets", "huggingface-hub", "tokenizers", "safetensors"),
        *("diffusers", "sentence-transformers", "bitsandbytes", "torch", "torchvision", "pytorch-lightning"),
        *("torchmetrics", "torchao", "torchtune", "llamafactory", "numpy"),
    }
)


def files() -> Iterator[tuple[str, str]]:
    """Addresses below the root of the site, and what stands there: a page and a picture for each pair."""
    for pair in pairs_among(CORE):
        consumer, provider = table_of(pair.consumer), table_of(pair.provider)
        if consumer is not None and provider is not None:
            out = io.StringIO()
            matrix_svg.render(pair_matrix(pair, consumer, provider), out)
            yield f"{_FOLDER}/{_name(pair)}.svg", out.getvalue()
            yield f"{_FOLDER}/{_name(pair)}.md", _page(pair, consumer, provider)


def listing() -> str:
    """A link for each pair, with what may be missing."""
    lines = [""]
    for pair in pairs_among(CORE):
        if table_of(pair.consumer) is None or table_of(pair.provider) is None:
            continue
        needs = list(dict.fromkeys(f"`{need.text}`" for one in pair.breaks for need in one.needs))
        more = f" and {counted(len(needs) - _SHOWN, 'more name')}" if len(needs) > _SHOWN else ""
        link = f"[{pair.consumer} with {pair.provider}]({_FOLDER}/{_name(pair)}.md)"
        lines.append(f"* {link}: {', '.join(needs[:_SHOWN])}{more}")
    return "\n".join(lines) + "\n"


def _page(pair: Pair, consumer: ReleaseTable, provider: ReleaseTable) -> str:
    """The page of a pair."""
    together = f"{pair.consumer} with {pair.provider}"
    lines = [
        f"# {together}",
        "",
        f"Which releases of {pair.consumer} ({consumer.versions[0]} to {consumer.versions[-1]}) can be imported beside "
        f"which releases of {pair.provider} ({provider.versions[0]} to {provider.versions[-1]}), as their wheels say.",
        "",
        f"![{together}]({_name(pair)}.svg)",
        "",
    ]
    for one in pair.breaks:
        lines += _section(pair, one)
    lines += [
        "`check` reports such a pair where both versions are listed. To see the table in a terminal:",
        "",
        "```sh",
        f"gradcompat knowledge pairs {pair.consumer} {pair.provider}",
        "```",
        "",
        "[What counts, and how far it was tried](../pairs.md)",
    ]
    return "\n".join(lines) + "\n"


def _section(pair: Pair, broken: Break) -> list[str]:
    return [
        f"## {pair.consumer} {_ranges(broken.consumers)}",
        "",
        f"Cannot be imported with {pair.provider} {_ranges(broken.providers)}.",
        "",
        f"| Needs | In the wheel of {pair.consumer} | Missing in {pair.provider} |",
        "|---|---|---|",
        *(f"| `{need.text}` | `{need.file}:{need.line}` | {_ranges(need.absent)} |" for need in broken.needs),
        "",
    ]


def _ranges(versions: VersionSet) -> str:
    """Ranges for a page: bars would end a cell of a table."""
    return str(versions).replace("||", "or")


def _name(pair: Pair) -> str:
    return f"{pair.consumer}-{pair.provider}"

"""The modules that an adapter is put on, by the names that a program or a config lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

# Names of linear layers of the attention, and of the attention as a whole.
_ATTENTION: Final = frozenset(
    {
        *("q_proj", "k_proj", "v_proj", "o_proj", "out_proj", "qkv_proj", "qkv", "query_key_value", "c_attn"),
        *("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "query", "key", "value", "Wqkv", "self_attn"),
    }
)


def are_of_attention(names: Iterable[object]) -> bool:
    """Is every module that is named one of the attention?

    >>> are_of_attention(["q_proj", "v_proj"])
    True
    >>> are_of_attention(["q_proj", "gate_proj"])
    False
    """
    return _ATTENTION.issuperset(str(name).strip() for name in names)

"""What the models of a release do with a loss, as their classes say it."""

from __future__ import annotations

from typing import Literal

from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """A class whose ``forward`` takes labels.

    Attributes:
        takes_kwargs: ``forward`` takes ``**kwargs``.
        loss: ``counts`` where it is divided by the ``num_items_in_batch`` that is handed over, ``ignores`` where that
            does not reach it; None where the source does not show it.
        shifts: ``forward`` shifts the labels itself, rather than the loss function.
        accepts_loss_kwargs: the attribute of the class that the Trainer believes more than the signature; None where
            there is none.
        supports: attention and caches that the class claims to support (``sdpa``, ``flash_attn_2``, ``flex_attn``).
        tied: the names of weights that the class lists as tied to others; in transformers 4 others may be tied, too.
    """

    takes_kwargs: bool
    loss: Literal["counts", "ignores"] | None
    shifts: bool
    accepts_loss_kwargs: bool | None
    supports: tuple[str, ...]
    tied: tuple[str, ...]


def parsed(text: str) -> ModelFacts:
    """The facts from the words that a table has.

    >>> parsed("kwargs counts supports=sdpa tied=lm_head.weight").loss
    'counts'
    """
    words = text.split()
    valued = [word.partition("=")[::2] for word in words if "=" in word]
    accepts = dict(valued).get("accepts_loss_kwargs")
    return ModelFacts(
        takes_kwargs="kwargs" in words,
        loss="counts" if "counts" in words else "ignores" if "ignores" in words else None,
        shifts="shifts" in words,
        accepts_loss_kwargs=None if accepts is None else accepts == "True",
        supports=tuple(value for key, value in valued if key == "supports"),
        tied=tuple(value for key, value in valued if key == "tied"),
    )

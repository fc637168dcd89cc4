"""Whether samples that share a row really are apart: the first one is changed, and the logits of the others compared.

That is exact whatever computes attention, and costs two forward passes without gradient in the first step. Random state
and buffers are put back.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from gradcompat.guard.instrumentation import loaded
from gradcompat.guard.loss_calls import LossLedger
from gradcompat.guard.random_state import RandomState, unchanged


def influence(
    model: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any], segments: Any, ledger: LossLedger
) -> Any:
    """The largest change of a later sample's logits, as a share of the spread of all logits.

    Args:
        model: whose forward pass has just been made; it gets the same arguments, but for labels.
        arguments: of that pass.
        keywords: of that pass.
        segments: number of the sample that each token of ``input_ids`` belongs to.
        ledger: sees loss functions, and has to forget those of these passes.

    Raises:
        ValueError: if there is nothing to change, or nothing that follows it.
    """
    torch = loaded("torch")
    given = {name: value for name, value in keywords.items() if name not in ("labels", "num_items_in_batch")}
    ids = given.get("input_ids")
    if ids is None or ids.shape != segments.shape:
        raise ValueError("no input_ids are given by name")
    # Another token that occurs in the batch's range, so that it is one of the vocabulary.
    other = torch.where(segments == 0, ids.min() + ids.max() - ids, ids)
    first, later = segments == 0, segments > 0
    inner = getattr(model, "module", model)  # of DDP, whose own forward talks to the other ranks
    state = RandomState()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of checkpointing, which finds nothing that requires grad
        with unchanged(inner, state, ledger):
            before = _logits(inner(*arguments, **given))
        with unchanged(inner, state, ledger):
            after = _logits(inner(*arguments, **{**given, "input_ids": other}))
        if before.shape[:2] != segments.shape or before.shape != after.shape:
            raise ValueError("the logits are not one row a token")
        changed = (before.float() - after.float()).abs().amax(-1)
        spread = before.float().max() - before.float().min()
        if not float((changed * first).max()) > 0.0:
            raise ValueError("the logits of the first sample do not depend on its tokens")
        return (changed * later).max() / spread


def _logits(output: Any) -> Any:
    found = getattr(output, "logits", None)
    if found is None:
        found = output[0] if isinstance(output, (tuple, list)) else output
    if not loaded("torch").is_tensor(found) or found.ndim != 3:
        raise ValueError("the model gives no logits of tokens")
    return found

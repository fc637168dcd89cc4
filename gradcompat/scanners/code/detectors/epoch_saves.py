"""States of accelerate that are saved between epochs alone, where no batch is left over."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import last_name, nodes_in
from gradcompat.startup.lazy_patterns import lazy_pattern

SYMBOL = "accelerate.Accelerator.save_state.between_epochs"
_EPOCHS = lazy_pattern(r"range\(|epoch")


def saves_between_epochs(names: Names) -> bool:
    """Does every ``save_state`` stand in a loop over epochs, and behind the loop over batches or in front of it?"""
    loops = {loop: set(nodes_in(loop)) for loop in names.nodes(ast.For)}
    training = [
        loop
        for loop, inside in loops.items()
        if any(isinstance(node, ast.Call) and last_name(node.func) == "backward" for node in inside)
    ]
    batches = [loop for loop in training if not any(other is not loop and other in loops[loop] for other in training)]
    epochs = [loop for loop in training if loop not in batches and _EPOCHS.search(ast.unparse(loop.iter))]
    saves = [call for call in names.nodes(ast.Call) if last_name(call.func) == "save_state"]
    return bool(saves) and all(
        any(save in loops[loop] for loop in epochs) and not any(save in loops[loop] for loop in batches)
        for save in saves
    )

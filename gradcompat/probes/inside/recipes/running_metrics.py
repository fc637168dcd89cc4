"""Does it change a metric of torchmetrics by classes that its value is read before the last update?

The first update lacks a class. What is read behind the last one is compared with the definition, once with a value read
in between. The control is the same metric that is read at the end alone.
"""

import importlib

from ..comparing import flat, norm_ratio
from ..skipping import Skip

_UPDATES = (([0, 1], [0, 0]), ([2, 2, 2, 1, 1], [2, 2, 1, 1, 2]))
_CLASSES = 3


def measure(parameters, device, seed):  # noqa: ARG001  # nothing is drawn
    """``metric``: precision, recall, accuracy, specificity. With ``plant`` the last update comes twice."""
    kind = parameters.get("metric", "precision")
    counted = [_DEFINITIONS[kind](*_counts(one)) for one in range(_CLASSES)]

    def length(read, again=False):
        import torch

        metric = _made(kind.capitalize()).to(device)
        for predictions, targets in _UPDATES + _UPDATES[-1:] * again:
            metric.update(torch.tensor(predictions, device=device), torch.tensor(targets, device=device))
            if read:
                metric.compute()
        return norm_ratio(flat([metric.compute()]), flat([torch.tensor(counted)]))

    return {"metric_ratio": length(True, bool(parameters.get("plant"))), "control": length(False)}


def _made(name):
    made = getattr(importlib.import_module("torchmetrics"), name, None)
    if made is None:
        raise Skip("this release of torchmetrics has no %s" % name)
    given = {"num_classes": _CLASSES, "average": "none"}
    try:
        return made(**given)
    except (TypeError, ValueError):
        return made(task="multiclass", **given)


def _counts(one):
    """True and false positives, and true and false negatives of a class."""
    pairs = [pair for update in _UPDATES for pair in zip(*update)]
    return tuple(
        sum((found == one, target == one) == wanted for found, target in pairs)
        for wanted in ((True, True), (True, False), (False, False), (False, True))
    )


_DEFINITIONS = {
    "precision": lambda tp, fp, tn, fn: tp / (tp + fp),  # noqa: ARG005  # each takes all four counts
    "recall": lambda tp, fp, tn, fn: tp / (tp + fn),  # noqa: ARG005
    "accuracy": lambda tp, fp, tn, fn: tp / (tp + fn),  # noqa: ARG005
    "specificity": lambda tp, fp, tn, fn: tn / (tn + fp),  # noqa: ARG005
}

"""Are metrics of torchmetrics what their definitions say, computed here sample by sample?

The control of each is the same metric where nobody has complained.
"""

import importlib

from ..comparing import ratio
from ..skipping import Skip

_CLASSES = 5
_SAMPLES = 40


def measure(parameters, device, seed):
    """``metric``: macro (a class is absent), exact_match (with ignore_index), pearson (sample by sample).

    With ``plant`` the metric is halved.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    found, control = _CASES[parameters.get("metric", "macro")](device, generator)
    return {"metric_ratio": found / 2 if parameters.get("plant") else found, "control": control}


def _function(name):
    try:
        module = importlib.import_module("torchmetrics.functional.classification")
    except ImportError as error:
        raise Skip("this release of torchmetrics has no metrics by task (%s)" % error) from error
    found = getattr(module, name, None)
    if found is None:
        raise Skip("this release of torchmetrics has no %s" % name)
    return found


def _labels(generator):
    """Predictions and targets, of which neither has the last class."""
    import torch

    targets = torch.arange(_SAMPLES) % (_CLASSES - 1)
    right = torch.rand(_SAMPLES, generator=generator) < 0.7
    other = torch.randint(0, _CLASSES - 1, (_SAMPLES,), generator=generator)
    return torch.where(right, targets, other), targets


def _recall(predictions, targets):
    shares = [(predictions[targets == one] == one).double().mean() for one in targets.unique()]
    return float(sum(shares)) / len(shares)


def _macro(device, generator):
    recall = _function("multiclass_recall")
    predictions, targets = (one.to(device) for one in _labels(generator))

    def share(classes):
        return ratio(recall(predictions, targets, num_classes=classes, average="macro"), _recall(predictions, targets))

    return share(_CLASSES), share(_CLASSES - 1)


def _exact_match(device, generator):
    """Two places a sample, of which one may be ignored."""
    import torch

    match = _function("multiclass_exact_match")
    targets = torch.randint(0, _CLASSES, (_SAMPLES, 2), generator=generator)
    wrong = torch.rand(_SAMPLES, 2, generator=generator) < 0.3
    predictions = torch.where(wrong, (targets + 1) % _CLASSES, targets)
    ignored = targets.clone()
    ignored[: _SAMPLES // 2, 1] = -1

    def share(labels, **given):
        expected = ((predictions == labels) | (labels == -1)).all(1).double().mean()
        found = match(predictions.to(device), labels.to(device), num_classes=_CLASSES, **given)
        return ratio(found, expected)

    return share(ignored, ignore_index=-1), share(targets)


def _pearson(device, generator):
    import torch
    import torchmetrics

    first = torch.randn(_SAMPLES, generator=generator)
    second = first + 0.5 * torch.randn(_SAMPLES, generator=generator)
    expected = torch.corrcoef(torch.stack([first, second]))[0, 1]

    def share(size):
        metric = torchmetrics.PearsonCorrCoef().to(device)
        for start in range(0, _SAMPLES, size):
            metric.update(first[start : start + size].to(device), second[start : start + size].to(device))
        found = metric.compute()
        return ratio(found, expected) if bool(torch.isfinite(found)) else 0.0

    return share(1), share(10)


_CASES = {"macro": _macro, "exact_match": _exact_match, "pearson": _pearson}

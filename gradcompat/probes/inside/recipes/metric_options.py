"""Are metrics of torchmetrics right with an option, after a reset, or where a picture lacks a class?

Each is compared with its definition, computed here; the control is the same metric where nobody has complained.
"""

import importlib

from ..comparing import ratio
from ..skipping import Skip

_SAMPLES = 40
_CLASSES = 6


def measure(parameters, device, seed):
    """``metric``: which one; see the functions below. With ``plant`` it is halved."""
    import torch

    torch.manual_seed(seed)  # of the draws of BootStrapper
    generator = torch.Generator().manual_seed(seed)
    found, control = _CASES[parameters.get("metric", "top_k")](device, generator)
    return {"metric_ratio": found / 2 if parameters.get("plant") else found, "control": control}


def _named(module, name):
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise Skip("this release has no %s (%s)" % (module, error)) from error
    if found is None:
        raise Skip("%s of this release has no %s" % (module, name))
    return found


def _top_k(device, generator):
    """A sample counts as one prediction: its class where that is among the k, as the micro average of recall says."""
    import torch

    precision = _named("torchmetrics.classification", "MulticlassPrecision")
    scores = torch.rand(_SAMPLES, _CLASSES, generator=generator)
    targets = torch.randint(0, _CLASSES, (_SAMPLES,), generator=generator)

    def share(k):
        among = (scores.topk(k).indices == targets[:, None]).any(1).double().mean()
        metric = precision(num_classes=_CLASSES, top_k=k, average="micro").to(device)
        return ratio(metric(scores.to(device), targets.to(device)), among)

    return share(2), share(1)


def _ergas(device, generator):
    """100 / ratio times the root of the mean over bands of the squared error by the squared mean."""
    import torch

    ergas = _named("torchmetrics", "ErrorRelativeGlobalDimensionlessSynthesis")
    images = [torch.rand(2, 3, 8, 8, generator=generator) + 0.5 for _ in range(2)]
    error = ((images[0] - images[1]).double() ** 2).mean((2, 3))
    relative = (error / images[1].double().mean((2, 3)) ** 2).mean(1).sqrt().mean()

    def share(scale):
        return ratio(ergas(ratio=scale).to(device)(*(one.to(device) for one in images)), 100 / scale * relative)

    return share(4), share(1)


def _multilabel(device, generator):
    """All labels that count are predicted for three quarters of the samples; half of these have one that does not."""
    import torch

    match = _named("torchmetrics.classification", "MultilabelExactMatch")
    targets = torch.randint(0, 2, (_SAMPLES, 3), generator=generator)
    predictions = targets.clone()
    predictions[: _SAMPLES // 4] = 1 - predictions[: _SAMPLES // 4]
    ignored = targets.clone()
    ignored[_SAMPLES // 2 :, 1] = -1

    def share(labels, **given):
        return ratio(match(num_labels=3, **given).to(device)(predictions.to(device), labels.to(device)), 0.75)

    return share(ignored, ignore_index=-1), share(targets)


def _after_reset(make, read, device):
    """An error of 9, a reset, and one of 1; the control is a metric that is made anew."""
    import torch

    targets = torch.zeros(_SAMPLES, device=device)

    def share(metric, errors):
        for size in errors:
            metric.reset()
            metric.update(torch.full_like(targets, size**0.5), targets)
        return float(read(metric.compute()))

    return share(make().to(device), (9.0, 1.0)), share(make().to(device), (1.0,))


def _bootstrap(device, _generator):
    import torchmetrics

    wrapper = _named("torchmetrics", "BootStrapper")
    return _after_reset(lambda: wrapper(torchmetrics.MeanSquaredError()), lambda found: found["mean"], device)


def _transformer(device, _generator):
    import torchmetrics

    wrapper = _named("torchmetrics.wrappers", "LambdaInputTransformer")
    return _after_reset(
        lambda: wrapper(torchmetrics.MeanSquaredError(), lambda values: values), lambda found: found, device
    )


def _pictures(generator):
    """Predicted and true classes of two pictures, which have the first two classes alone."""
    import torch

    targets = torch.randint(0, 2, (2, 8, 8), generator=generator)
    wrong = torch.rand(2, 8, 8, generator=generator) < 0.2
    return torch.where(wrong, 1 - targets, targets), targets


def _overlap(predictions, targets, dice):
    """The mean of the two classes that the pictures have, and of the pictures."""
    import torch

    def share(kind):
        found, true = predictions == kind, targets == kind
        both, either = (found & true).double().sum((1, 2)), (found | true).double().sum((1, 2))
        return 2 * both / (both + either) if dice else both / either

    return torch.stack([share(0), share(1)]).mean()


def _one_hot(labels, classes):
    """With one channel for each class, which is the format that every release takes."""
    import torch

    return torch.nn.functional.one_hot(labels, classes).movedim(-1, 1)


def _segmented(device, generator, name, dice, updates=1, **given):
    predictions, targets = _pictures(generator)
    metric = _named("torchmetrics.segmentation", name)
    expected = _overlap(predictions, targets, dice)

    def share(classes, times):
        made = metric(num_classes=classes, **given).to(device)
        for _ in range(times):
            made.update(*(_one_hot(one, classes).to(device) for one in (predictions, targets)))
        return ratio(made.compute(), expected)

    return (share(2, updates) if updates > 1 else share(5, 1)), share(2, 1)


def _mean_iou(device, generator):
    return _segmented(device, generator, "MeanIoU", dice=False)


def _iou_updates(device, generator):
    """The same pictures twice, which do not change the mean."""
    return _segmented(device, generator, "MeanIoU", dice=False, updates=2)


def _dice(device, generator):
    return _segmented(device, generator, "DiceScore", dice=True, average="macro")


def _psnr(device, generator):
    import torch

    psnr = _named("torchmetrics.image", "PeakSignalNoiseRatio")
    images = [torch.randint(0, 256, (1, 3, 8, 8), generator=generator) for _ in range(2)]
    expected = 10 * (255**2 / ((images[0] - images[1]).double() ** 2).mean()).log10()

    def share(kind):
        return ratio(psnr(data_range=255.0).to(device)(*(one.to(device, kind) for one in images)), expected)

    return share(torch.uint8), share(torch.float32)


def _retrieval(device, _generator):
    """The relevant document is the best of its query: by scores below 0, and by scores above it."""
    import torch

    rank = _named("torchmetrics.functional", "retrieval_reciprocal_rank")
    scores = torch.tensor([-0.4, -0.1, -0.9, -0.6], device=device)
    relevant = torch.tensor([False, True, False, False], device=device)
    return float(rank(scores, relevant)), float(rank(scores + 1, relevant))


def _bert_score(device, generator):
    """Texts that are their own references, of different lengths, beside others whose words differ."""
    import torch

    score = _named("torchmetrics.functional.text.bert", "bert_score")
    table = torch.randn(64, 16, generator=generator)

    class Embeddings(torch.nn.Module):
        def forward(self, input_ids):
            return table[input_ids.cpu()].to(device)

    def tokenize(texts, length=12, **_):
        rows = [[1, *map(int, text.split()), 2][:length] for text in texts]
        padded = torch.tensor([row + [0] * (length - len(row)) for row in rows])
        return {"input_ids": padded, "attention_mask": (padded != 0).long()}

    def f1(texts, references):
        found = score(
            texts, references, model=Embeddings(), user_tokenizer=tokenize, max_length=12, device=device,
            user_forward_fn=lambda model, batch: model(batch["input_ids"]),
        )["f1"]  # fmt: skip
        return torch.as_tensor(found).double().reshape(-1)

    def share(texts, references):
        alone = torch.cat([f1(texts[at : at + 1], references[at : at + 1]) for at in range(len(texts))])
        return ratio(f1(texts, references).mean(), alone.mean())

    unequal = ["10 11 12 13", "20 21", "30 31 32 33 34 35", "40 41 42"]
    same_length = ["10 11 12", "20 21 22", "30 31 32", "40 41 42"]
    references = ["10 11", "20 21 22 23 24", "30 31 32", "40 41 42 43"]
    return share(unequal, references), share(same_length, [text[:5] + " 50" for text in same_length])


_CASES = {
    "top_k": _top_k,
    "ergas": _ergas,
    "multilabel": _multilabel,
    "bootstrap": _bootstrap,
    "transformer": _transformer,
    "mean_iou": _mean_iou,
    "iou_updates": _iou_updates,
    "dice": _dice,
    "psnr": _psnr,
    "retrieval": _retrieval,
    "bert_score": _bert_score,
}

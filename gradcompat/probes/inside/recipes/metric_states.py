"""Are metrics of torchmetrics right that count what is to be ignored, compare sets of two sizes, or share their states?

Each is compared with its definition, or with the same metric by itself; the control is one that nobody doubts.
"""

import importlib

from ..comparing import ratio
from ..skipping import Skip

_WIDTH = 8
_REAL = 120
# Three of eight samples have the label that is to be ignored, and the others are predicted right.
_LABELS = [1, 2, 3, 1, 2, 0, 0, 0]
_PREDICTED = [1, 2, 3, 1, 2, 1, 2, 3]
_SENTENCES = (
    ("the cat sat on the mat", "the cat sat on the mat"),
    ("a dog ran to the big house", "a dog went to a house"),
)
# As long as its reference, so that the first batch has no word too many.
_WORDS = (("hello there world", "hello their world"), ("good day to you all my friends", "good day"))


def measure(parameters, device, seed):
    """``metric``: see the functions below. With ``plant`` it is halved."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    found, control = _CASES[parameters.get("metric", "precision")](device, generator)
    return {"metric_ratio": found / 2 if parameters.get("plant") else found, "control": control}


def _named(module, *names):
    """The first of the names that there is: some were renamed."""
    try:
        there = importlib.import_module(module)
    except ImportError as error:
        raise Skip("this release has no %s (%s)" % (module, error)) from error
    for name in names:
        if hasattr(there, name):
            return getattr(there, name)
    raise Skip("%s of this release has no %s" % (module, names[0]))


def _ignored(device, *names):
    """Class 0 is to be ignored; recall, which divides by the samples of the other classes, is the control.

    Since 0.11 the classes ask for a task, and a micro average, which was the default.
    """
    import torch

    def value(*options):
        metric = _named("torchmetrics", *options)
        given = {"num_classes": 4, "ignore_index": 0, "average": "micro"}
        try:
            made = metric(**given)
        except (TypeError, ValueError):
            made = metric(task="multiclass", **given)
        made = made.to(device)
        made.update(torch.tensor(_PREDICTED, device=device), torch.tensor(_LABELS, device=device))
        return float(made.compute())

    return value(*names), value("Recall")


def _precision(device, _generator):
    return _ignored(device, "Precision")


def _f1(device, _generator):
    return _ignored(device, "F1Score", "F1")


def _distance(device, generator):
    """Twice as many fake features as real ones, and as many."""
    import torch

    metric = _named("torchmetrics.image.fid", "FrechetInceptionDistance", "FID")

    class Features(torch.nn.Module):
        num_features = _WIDTH

        def forward(self, images):
            return images.flatten(1)[:, :_WIDTH].double()

    real = torch.randn(_REAL, 1, 1, _WIDTH, generator=generator)
    fake = torch.randn(2 * _REAL, 1, 1, _WIDTH, generator=generator) * 1.5 + 0.5

    def defined(first, second):
        one, two = (each.reshape(len(each), -1).double() for each in (first, second))
        spread = [(each - each.mean(0)).T @ (each - each.mean(0)) / (len(each) - 1) for each in (one, two)]
        root = torch.linalg.eigvals(spread[0] @ spread[1]).real.clamp(min=0).sqrt().sum()
        return ((one.mean(0) - two.mean(0)) ** 2).sum() + spread[0].trace() + spread[1].trace() - 2 * root

    def share(drawn):
        made = metric(feature=Features()).to(device)
        made.update(real.to(device), real=True)
        made.update(drawn.to(device), real=False)
        return ratio(made.compute(), defined(real, drawn))

    return share(fake), share(fake[:_REAL])


def _collected(device, make, batches):
    """The worse of two metrics that are updated in one collection, and each in one of its own."""
    import torchmetrics

    def together(metrics):
        made = torchmetrics.MetricCollection(metrics).to(device)
        for one, two in batches:
            made.update(one, two)
        return {name: float(value) for name, value in made.compute().items()}

    def alone(name):
        metric = make()[name]
        for one, two in batches:
            metric.update(one, two)
        return float(metric.compute())

    def worst(found):
        return max((ratio(value, alone(name)) for name, value in found.items()), key=lambda share: abs(share - 1))

    return worst(together(make())), worst({name: together({name: made})[name] for name, made in make().items()})


def _bleu(device, _generator):
    score = _named("torchmetrics.text.bleu", "BLEUScore")
    return _collected(
        device,
        lambda: {"one": score(n_gram=1), "two": score(n_gram=2)},
        [([text], [[reference]]) for text, reference in _SENTENCES],
    )


def _words(device, _generator):
    errors = _named("torchmetrics.text.wer", "WordErrorRate", "WER")
    matches = _named("torchmetrics.text.mer", "MatchErrorRate")
    return _collected(
        device, lambda: {"mer": matches(), "wer": errors()}, [([text], [reference]) for text, reference in _WORDS]
    )


_CASES = {
    "precision": _precision,
    "f1": _f1,
    "distance": _distance,
    "bleu": _bleu,
    "words": _words,
}

"""Do losses of sentence-transformers have the value and the gradients of their definition?

The definition is computed from the embeddings or scores of the same model. The control is a case that every release
gets right: a batch that is one mini-batch, lists of one length, the loss without the divergence.
"""

from .. import sentence_encoders, toy_tokenizer
from ..comparing import cosine, flat, norm_ratio, ratio
from ..skipping import Skip

_WORDS = 6


def measure(parameters, device, seed):
    """``loss``: mega_batch, list_mle, adaptive_layer; with ``plant`` the definition's batch lacks a row."""
    found = {
        "mega_batch": _mega_batch,
        "list_mle": _list_mle,
        "adaptive_layer": _adaptive_layer,
    }
    return found[parameters.get("loss", "mega_batch")](device, seed, parameters.get("plant", False))


def _features(seed, column, rows, device):
    """Tokens of random sentences of one length."""
    import torch

    first = torch.Generator().manual_seed(100 * seed + column)
    ids = torch.randint(toy_tokenizer.FIRST, toy_tokenizer.SIZE, (rows, _WORDS), generator=first).to(device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}


def _gradients(model, value):
    import torch

    value.backward()
    return flat(torch.zeros_like(one) if one.grad is None else one.grad for one in model.parameters())


def _class(name, place="losses"):
    """A loss by its name, from where this release has it."""
    import importlib

    path = {"losses": "sentence_transformers.losses", "rerankers": "sentence_transformers.cross_encoder.losses"}[place]
    try:
        return getattr(importlib.import_module(path), name)
    except (ImportError, AttributeError):
        raise Skip("this release has no %s" % name) from None


def _compared(model, found, expected, control, control_expected):
    """Two losses with their gradients; each is a function, so that it can walk through the batch itself."""

    def run(loss):
        model.zero_grad()
        value = loss()
        return float(value.detach()), _gradients(model, value)

    value, gradients = run(found)
    wanted, wanted_gradients = run(expected)
    beside, beside_gradients = run(control)
    beside_wanted, beside_wanted_gradients = run(control_expected)
    return {
        "loss_ratio": ratio(value, wanted),
        "gradient_ratio": norm_ratio(gradients, wanted_gradients),
        "gradient_cosine": cosine(gradients, wanted_gradients),
        "control_loss_ratio": ratio(beside, beside_wanted),
        "control_gradient_cosine": cosine(beside_gradients, beside_wanted_gradients),
    }


def _mega_batch(device, seed, plant):
    """The loss in mini-batches against the same loss without them."""
    kind = _class("MegaBatchMarginLoss")
    model = sentence_encoders.encoder(seed, device)

    def loss(rows, **given):
        made = kind(model, **given)
        taken = rows - 1 if plant and rows == 6 and not given["use_mini_batched_version"] else rows

        def compute():
            columns = [
                {name: value[:taken] for name, value in _features(seed, column, rows, device).items()}
                for column in range(2)
            ]
            return made(columns, None)

        return compute

    return _compared(
        model,
        loss(6, use_mini_batched_version=True, mini_batch_size=2),
        loss(6, use_mini_batched_version=False),
        loss(2, use_mini_batched_version=True, mini_batch_size=2),
        loss(2, use_mini_batched_version=False),
    )


def _adaptive_layer(device, seed, plant):
    """The divergence must not reach what only the last layer has, so that its gradients are those without it."""
    import torch

    kind, inner = _class("AdaptiveLayerLoss"), _class("MultipleNegativesRankingLoss")
    model = sentence_encoders.encoder(seed, device)

    def last_layer(temperature):
        made = kind(model, inner(model), n_layers_per_step=-1, kl_div_weight=1000.0, kl_temperature=temperature)
        columns = [_features(seed, column, 4, device) for column in range(2)]
        value = made(columns, torch.zeros(4, device=device))
        model.zero_grad()
        value.backward()
        layer = [weight for name, weight in model.named_parameters() if "layer.1." in name]
        return float(value.detach()), flat(weight.grad for weight in layer)

    value, without = last_layer(0)
    again, repeated = last_layer(0)
    larger, found = last_layer(0.3)
    if not larger > value:
        raise Skip("this release adds no divergence")
    if plant:
        found = found * 1.5
    return {
        "gradient_ratio": norm_ratio(found, without),
        "gradient_cosine": cosine(found, without),
        "control_loss_ratio": ratio(again, value),
        "control_gradient_cosine": cosine(repeated, without),
    }


def _list_mle(_, seed, plant):
    """Lists of four and two documents against the Plackett-Luce likelihood of each by itself."""
    import torch

    kind = _class("PListMLELoss", "rerankers")
    lists = ((4, 2), (3, 3))
    scores = {
        lengths: [
            torch.randn(length, generator=torch.Generator().manual_seed(10 * seed + place)).requires_grad_()
            for place, length in enumerate(lengths)
        ]
        for lengths in lists
    }

    def found(lengths):
        made = kind(_scorer(torch.cat(scores[lengths])), lambda_weight=None, mini_batch_size=-1)
        labels = [torch.arange(length, 0, -1).float() for length in lengths]
        documents = [["d%d" % number for number in range(length)] for length in lengths]
        return made([["q"] * len(lengths), documents], labels)

    def expected(lengths):
        total = 0.0
        for place, one in enumerate(scores[lengths]):
            if plant and lengths == (4, 2) and place == 1:
                continue
            for start in range(len(one)):
                total = total + torch.logsumexp(one[start:], 0) - one[start]
        return total / len(lengths)

    def both(compute, lengths):
        value = compute(lengths)
        return float(value), flat(torch.autograd.grad(value, scores[lengths]))

    value, gradients = both(found, (4, 2))
    wanted, wanted_gradients = both(expected, (4, 2))
    beside, beside_gradients = both(found, (3, 3))
    beside_wanted, beside_wanted_gradients = both(expected, (3, 3))
    return {
        "loss_ratio": ratio(value, wanted),
        "gradient_ratio": norm_ratio(gradients, wanted_gradients),
        "gradient_cosine": cosine(gradients, wanted_gradients),
        "control_loss_ratio": ratio(beside, beside_wanted),
        "control_gradient_cosine": cosine(beside_gradients, beside_wanted_gradients),
    }


def _scorer(scores):
    """What a loss asks of a CrossEncoder, with the scores at hand."""
    import torch

    class Tokens(dict):
        def to(self, *_, **__):
            return self

    class Output(dict):
        def __getitem__(self, key):
            return scores.unsqueeze(1)

    class Scorer(torch.nn.Module):
        num_labels = 1
        device = torch.device("cpu")

        def tokenizer(self, pairs, *_, **__):
            return Tokens(input_ids=torch.zeros(len(pairs), 1))

        def preprocess(self, pairs, *_, **__):
            return self.tokenizer(pairs)

        def forward(self, *_, **__):
            return Output()

    return Scorer()

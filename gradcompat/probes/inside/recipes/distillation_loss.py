"""Does Liger's fused JSD loss leave out the tokens that do not count, and stay finite where the models are very sure?

It is pure torch, and not compiled here. The controls: the teacher counts at the other tokens, and the loss of models
that are less sure is finite.
"""

import inspect

from ..skipping import Skip

_TOKENS = 8
_IGNORED = 5
_HIDDEN = 8
_VOCABULARY = 16
_IGNORE = -100
_VERY_SURE = 300.0


def measure(parameters, device, seed):
    """``what``: ignored, confident. With ``plant`` no label is ignored, or the hidden states have a NaN."""
    what = parameters.get("what", "ignored")
    return {"ignored": _ignored, "confident": _confident}[what](parameters, device, seed)


def _parts(torch, device, seed):
    """Student and teacher as hidden states and weights, and labels of which the first ones do not count."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(*shape):
        return torch.randn(*shape, generator=generator).to(device)

    labels = torch.randint(0, _VOCABULARY, (_TOKENS,), generator=generator)
    labels[:_IGNORED] = _IGNORE
    hidden, states = drawn(_TOKENS, _HIDDEN), drawn(_TOKENS, _HIDDEN)
    return hidden, drawn(_VOCABULARY, _HIDDEN), states, drawn(_VOCABULARY, _HIDDEN), labels.to(device)


def _loss(hidden, weight, states, teacher, labels):
    """The divergence alone, and its gradient with respect to the student's hidden states."""
    from liger_kernel import chunked_loss

    kind = getattr(chunked_loss, "LigerFusedLinearJSDLoss", None)
    if kind is None:
        raise Skip("this release of Liger has no LigerFusedLinearJSDLoss")
    known = inspect.signature(kind.__init__).parameters
    wanted = {"weight_hard_loss": 0.0, "weight_soft_loss": 1.0, "ignore_index": _IGNORE, "compiled": False}
    hidden = hidden.clone().requires_grad_(True)
    module = kind(**{name: value for name, value in wanted.items() if name in known})
    # Some releases have no default for these.
    biases = [name for name in inspect.signature(module.forward).parameters if name.endswith("_bias")]
    weight = weight.clone().requires_grad_(True)
    found = module(hidden, weight, states, teacher, labels, **dict.fromkeys(biases))
    loss = found[0] if isinstance(found, tuple) else found
    loss.backward()
    return float(loss.detach()), hidden.grad


def _ignored(parameters, device, seed):
    import torch

    hidden, weight, states, teacher, labels = _parts(torch, device, seed)
    if parameters.get("plant"):
        labels = labels.clamp(min=0)
    loss, gradient = _loss(hidden, weight, states, teacher, labels)

    def change(tokens):
        other = states.clone()
        other[tokens] = -other[tokens]
        return abs(_loss(hidden, weight, other, teacher, labels)[0] - loss) / loss

    return {
        "ignored_change": change(slice(None, _IGNORED)),
        "ignored_gradient": float(gradient[:_IGNORED].norm() / gradient.norm()),
        "control_effect": change(slice(_IGNORED, None)),
    }


def _confident(parameters, device, seed):
    import torch

    hidden, weight, states, teacher, labels = _parts(torch, device, seed)
    labels = labels.clamp(min=0)

    def finite(scale, spoilt=0.0):
        loss, gradient = _loss(hidden * scale + spoilt, weight, states * scale, teacher, labels)
        return int(torch.isfinite(torch.tensor(loss)) and bool(torch.isfinite(gradient).all()))

    return {
        "finite": finite(_VERY_SURE, float("nan") if parameters.get("plant") else 0.0),
        "control_effect": finite(1.0),
    }

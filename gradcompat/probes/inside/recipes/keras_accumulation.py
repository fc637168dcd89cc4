"""Does a Keras optimizer that accumulates gradients step as one that is given their mean?

The control is SGD, whose step does not depend on what came before.
"""

from ..comparing import cosine, norm_ratio

_STEPS = 6
_RATE = 1e-2
_SIZE = 24
_ACCUMULATED = 2


def measure(parameters, device, seed):  # noqa: ARG001  # Keras chooses the device
    """``optimizer``, ``average`` (whether it overwrites weights by their average); with ``plant`` half a gradient."""
    import numpy

    drawn = numpy.random.RandomState(seed)
    gradients = drawn.normal(size=(_STEPS * _ACCUMULATED, _SIZE)).astype("float32")
    means = gradients.reshape(_STEPS, _ACCUMULATED, _SIZE).mean(axis=1)
    given = {"use_ema": True, "ema_overwrite_frequency": 1} if parameters.get("average") else {}

    def both(name, given):
        together = _moved(name, gradients, gradient_accumulation_steps=_ACCUMULATED, **given)
        return together, _moved(name, means * (0.5 if parameters.get("plant") else 1.0), **given)

    found, expected = both(parameters.get("optimizer", "adam"), given)
    control, plain = _moved("sgd", gradients, gradient_accumulation_steps=_ACCUMULATED), _moved("sgd", means)
    return {
        "update_ratio": norm_ratio(found, expected),
        "update_cosine": cosine(found, expected),
        "control_ratio": norm_ratio(control, plain),
    }


def _moved(name, gradients, **given):
    import keras
    import torch

    makers = {
        "adam": keras.optimizers.Adam,
        "adamax": keras.optimizers.Adamax,
        "adamw": keras.optimizers.AdamW,
        "nadam": keras.optimizers.Nadam,
        "sgd": keras.optimizers.SGD,
    }
    keras.utils.set_random_seed(0)
    optimizer = makers[name](learning_rate=_RATE, **given)
    variable = keras.Variable(keras.ops.ones((_SIZE,)))
    optimizer.build([variable])
    for gradient in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(gradient)], [variable])
    return torch.as_tensor(keras.ops.convert_to_numpy(variable)).double() - 1.0

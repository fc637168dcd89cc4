"""Keras on torch: do LossScaleOptimizer and a masked BatchNormalization do what they are told?

The controls: the optimizer inside does the same alone, and BatchNormalization with the mask repeated to the full shape.
"""

import warnings

from ..comparing import one_line

_RATE = 1.0
_SIZE = 3


def measure(parameters, device, seed):  # noqa: ARG001  # Keras chooses the device
    """``what``: apply, clipping, mask. With ``plant`` the gradient is 0, nothing is clipped, nothing is normalised."""
    what = parameters.get("what", "apply")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"apply": _apply, "clipping": _clipping, "mask": _mask}[what](parameters, seed)


def _stepped(optimizer, gradient=1.0, alone=False):
    """The norm of what one step with this gradient does to a variable; ``alone``: apply is given the gradient alone."""
    import keras
    import numpy

    variable = keras.Variable(numpy.ones(_SIZE, "float32"))
    optimizer.build([variable])
    optimizer.apply([keras.ops.full((_SIZE,), gradient)], *(() if alone else ([variable],)))
    return float(numpy.linalg.norm(1.0 - keras.ops.convert_to_numpy(variable)))


def _scaled(inner, **given):
    """With a scale of 1 a gradient means the same to both."""
    from keras import optimizers

    return optimizers.LossScaleOptimizer(inner, initial_scale=1.0, **given)


def _apply(parameters, seed):  # noqa: ARG001  # nothing is drawn
    from keras import optimizers

    inner = _stepped(optimizers.SGD(_RATE), alone=True)
    moved = _stepped(_scaled(optimizers.SGD(_RATE)), 0.0 if parameters.get("plant") else 1.0, alone=True)
    return {"moved": moved / inner, "control_ratio": inner / _SIZE**0.5}


def _clipping(parameters, seed):  # noqa: ARG001  # nothing is drawn
    """A release may refuse the argument; one that takes it has to clip."""
    from keras import optimizers

    norm = 0.1
    values = {"control_ratio": _stepped(_scaled(optimizers.SGD(_RATE, clipnorm=norm))) / norm}
    if parameters.get("plant"):
        return {**values, "ignored": int(_stepped(_scaled(optimizers.SGD(_RATE))) > 2 * norm)}
    try:
        optimizer = _scaled(optimizers.SGD(_RATE), clipnorm=norm)
    except (TypeError, ValueError) as error:
        return {**values, "ignored": 0, "error": one_line(error)}
    return {**values, "ignored": int(_stepped(optimizer) > 2 * norm)}


def _mask(parameters, seed):
    """Three of five steps are kept, and the mask broadcasts over the height.

    The steps are all alike, so that a release that does not look at masks at all is nearly right.
    """
    import keras
    import numpy

    drawn = numpy.random.RandomState(seed)
    inputs = drawn.normal(5.0, size=(4, 5, 3, 2)).astype("float32")
    kept = numpy.zeros((4, 5, 1), bool)
    kept[:, :3] = True
    full = numpy.repeat(kept, 3, axis=2)

    def normalised(mask, training):
        layer = keras.layers.BatchNormalization()
        outputs = layer(inputs, training=training, mask=keras.ops.convert_to_tensor(mask))
        return keras.ops.convert_to_numpy(outputs)[full]

    found = normalised(kept, training=not parameters.get("plant"))
    wanted = normalised(full, training=True)
    return {
        "mean": float(found.mean()),
        "deviation": float(found.std()),
        "control_ratio": float(wanted.std()),
    }

"""Keras on torch: are the weights behind ``fit`` with ``use_ema`` the averages of those of the steps?

A layer without bias is trained on a line, with a momentum so small that the average is nearly the last weight. The
control is the same run without averages.
"""

_SAMPLES = 64
_WIDTH = 4
_MOMENTUM = 0.01


def measure(parameters, device, seed):  # noqa: ARG001  # Keras chooses the device
    """With ``plant`` the weights of the run with averages are zero."""
    import numpy

    drawn = numpy.random.RandomState(seed)
    inputs = drawn.normal(size=(_SAMPLES, _WIDTH)).astype("float32")
    wanted = numpy.arange(1.0, _WIDTH + 1.0, dtype="float32")

    def share(**given):
        """The length of the weights by that of the right ones."""
        weights = _trained(inputs, inputs @ wanted[:, None], seed, **given)
        return float(numpy.linalg.norm(weights) / numpy.linalg.norm(wanted))

    found = 0.0 if parameters.get("plant") else share(use_ema=True, ema_momentum=_MOMENTUM)
    return {"weight_ratio": found, "control": share()}


def _trained(inputs, targets, seed, **given):
    import keras

    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False)])
    model.compile(optimizer=keras.optimizers.SGD(0.1, **given), loss="mse")
    model.fit(inputs, targets, batch_size=16, epochs=30, verbose=0)
    return model.get_weights()[0]

"""Are the updates and gradients of optax finite where they have to be? Negative gradients, and very sure logits.

The controls: the same with positive gradients, and with the exponent that is the default.
"""

import warnings

from ..skipping import Skip


def measure(parameters, device, seed):  # noqa: ARG001  # nothing is drawn, and JAX chooses the device
    """``what``: distance, focal. With ``plant`` one gradient, or one logit, is no number."""
    what = parameters.get("what", "distance")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"distance": _distance, "focal": _focal}[what](bool(parameters.get("plant")))


def _named(name):
    import optax

    found = getattr(optax, name, None)
    if found is None:
        raise Skip("this release of optax has no %s" % name)
    return found


def _share(values):
    import jax.numpy

    return float(jax.numpy.isfinite(values).mean())


def _distance(plant):
    import jax.numpy

    transformation = _named("scale_by_distance_over_gradients")()

    def share(*gradient):
        parameters = jax.numpy.ones(len(gradient))
        state = transformation.init(parameters)
        updates, _ = transformation.update(jax.numpy.array(gradient), state, parameters)
        return _share(updates)

    return {"finite_share": share(-1.0, float("nan") if plant else 1.0), "control_share": share(1.0, 1.0)}


def _focal(plant):
    import jax

    loss = _named("sigmoid_focal_loss")
    logits = jax.numpy.array([0.0, 50.0, float("nan") if plant else 100.0])
    labels = jax.numpy.ones(3)

    def share(at, gamma):
        return _share(jax.grad(lambda one: loss(one, labels, gamma=gamma).sum())(at))

    return {"finite_share": share(logits, 0.5), "control_share": share(jax.numpy.array([0.0, 50.0, 100.0]), 2.0)}

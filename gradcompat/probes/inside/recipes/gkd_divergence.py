"""Is the loss of TRL's GKDTrainer the Jensen-Shannon divergence that beta asks for?

The definition is computed from probabilities in float64: beta times teacher and 1 - beta times student is the mixture,
and the divergences from it are weighted alike. The control is that two equal distributions have none.
"""

from ..comparing import ratio
from ..skipping import Skip


def measure(parameters, device, seed):
    """``beta``: 0.1, 0.5; with ``plant`` student and teacher of the definition change places."""
    import torch

    divergence = _divergence()
    beta = parameters.get("beta", 0.1)
    made = torch.Generator().manual_seed(seed)
    student, teacher = (3 * torch.randn(2, 5, 12, generator=made, dtype=torch.float64) for _ in range(2))
    labels = torch.ones(2, 5, dtype=torch.long)

    def loss(one, other):
        return float(divergence(one.to(device), other.to(device), labels=labels.to(device), beta=beta))

    pair = (teacher, student) if parameters.get("plant") else (student, teacher)
    return {
        "loss_ratio": ratio(loss(student, teacher), _definition(*pair, beta)),
        "control_loss": abs(loss(student, student)),
    }


def _divergence():
    """The function, from where this release has it."""
    import trl

    for module in (trl, _experimental()):
        trainer = getattr(module, "GKDTrainer", None)
        if trainer is not None and hasattr(trainer, "generalized_jsd_loss"):
            return trainer.generalized_jsd_loss
    raise Skip("this release of TRL has no GKDTrainer")


def _experimental():
    import importlib

    try:
        return importlib.import_module("trl.experimental.gkd")
    except ImportError:
        return None


def _definition(student, teacher, beta):
    student, teacher = student.softmax(-1), teacher.softmax(-1)
    mixture = beta * teacher + (1 - beta) * student

    def kl(one):
        return (one * (one / mixture).log()).sum()

    return float((beta * kl(teacher) + (1 - beta) * kl(student)) / (student.shape[0] * student.shape[1]))

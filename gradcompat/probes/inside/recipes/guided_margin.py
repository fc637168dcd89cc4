"""Does a relative margin of GISTEmbedLoss leave out the negatives that its guide finds as close as the positive?

To the guide all anchors are alike, and so are all positives: everything but the positive itself is to be left out. To
the model all are equal, so that the loss is the logarithm of the number of candidates that are kept. The control is a
guide that finds anchors and positives similar.
"""

from .. import sentence_encoders
from ..skipping import Skip

_ROWS = 5
_MARGIN = 0.05


def measure(parameters, device, seed):
    """With ``plant`` the margin lies on the other side of the positive."""
    return {
        "kept": _kept(device, seed, -0.5, bool(parameters.get("plant"))),
        "control": _kept(device, seed, 0.5, False),
    }


def _kept(device, seed, similarity, plant):
    """How many candidates of each anchor count, where the guide gives all pairs this similarity."""
    import inspect

    import torch

    try:
        from sentence_transformers.losses import GISTEmbedLoss
    except ImportError as error:
        raise Skip("this release has no GISTEmbedLoss") from error
    if "margin_strategy" not in inspect.signature(GISTEmbedLoss.__init__).parameters:
        raise Skip("GISTEmbedLoss of this release has no margin")

    class Given(torch.nn.Module):
        """An encoder whose embeddings are given."""

        def __init__(self, columns):
            super().__init__()
            self.columns = [torch.tensor([column] * _ROWS, device=device) for column in columns]

        def forward(self, features):
            return {"sentence_embedding": self.columns[features["column"]]}

    encoder = sentence_encoders.encoder(seed, device)
    strategy, margin = ("absolute", -0.2) if plant else ("relative", _MARGIN)
    loss = GISTEmbedLoss(encoder, encoder, margin_strategy=strategy, margin=margin)
    loss.model = Given([[1.0, 0.0], [1.0, 0.0]])
    loss.guide = Given([[1.0, 0.0], [similarity, (1 - similarity**2) ** 0.5]])
    return float(loss([{"column": 0}, {"column": 1}], None).exp())

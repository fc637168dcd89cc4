"""Does the loss keep its gradient inside the closure that Lightning hands to the optimizer?

The control is the same run with an optimizer of torch, in whose ``step`` gradients are on for the closure.
"""

from .. import lightnings
from ..skipping import Skip


def measure(parameters, device, seed):
    """``optimizer``: adafactor or adamw of transformers."""
    import torch
    import transformers

    lightning = lightnings.package()
    wanted = parameters.get("optimizer", "adafactor")

    def theirs(weights):
        if wanted == "adafactor":
            return transformers.Adafactor(weights, lr=1e-2, relative_step=False, scale_parameter=False)
        if not hasattr(transformers, "AdamW"):
            raise Skip("this release of transformers has no AdamW")
        return transformers.AdamW(weights, lr=1e-2)

    def fit(make):
        torch.manual_seed(seed)

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)
                self.seen = []

            def training_step(self, batch, index):
                loss = self.layer(batch).pow(2).mean()
                self.seen.append(bool(loss.requires_grad))
                return loss

            def configure_optimizers(self):
                return make(self.parameters())

        module = Module()
        before = module.layer.weight.detach().clone()
        data = torch.randn(8, 4, generator=torch.Generator().manual_seed(seed + 1))
        error = ""
        with lightnings.quiet(lightning):
            trainer = lightnings.trainer(lightning, device, max_steps=2)
            try:
                trainer.fit(module, torch.utils.data.DataLoader(data, batch_size=4))
            except RuntimeError as caught:
                if "does not require grad" not in str(caught):
                    raise
                error = "element 0 of tensors does not require grad"
        moved = float((module.layer.weight.detach().cpu() - before).abs().max())
        share = sum(module.seen) / len(module.seen) if module.seen else float("nan")
        return share, moved, error

    share, moved, error = fit(theirs)
    control_share, control_moved, _ = fit(lambda weights: torch.optim.AdamW(weights, lr=1e-2))
    return {
        "requires_grad_share": share,
        "moved": moved,
        "error": error,
        "control_requires_grad_share": control_share,
        "control_moved": control_moved,
    }

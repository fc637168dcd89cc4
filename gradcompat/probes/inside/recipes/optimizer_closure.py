"""Does the loss keep its gradient inside the closure that Lightning hands to the optimizer?

The control is the same run with an optimizer of torch, in whose ``step`` gradients are on for the closure.
"""

import contextlib
import io
import logging
import warnings

from ..skipping import Skip


def measure(parameters, device, seed):
    """``optimizer``: adafactor or adamw of transformers; ``package``: pytorch_lightning, lightning."""
    import torch
    import transformers

    lightning = _lightning(parameters.get("package", "pytorch_lightning"))
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
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            logging.getLogger(lightning.__name__).setLevel(logging.ERROR)
            trainer = lightning.Trainer(
                max_steps=2,
                accelerator="cpu" if device == "cpu" else "auto",
                devices=1,
                logger=False,
                enable_checkpointing=False,
                enable_progress_bar=False,
                enable_model_summary=False,
            )
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


def _lightning(package):
    if package == "lightning":
        import lightning.pytorch

        return lightning.pytorch
    import pytorch_lightning

    return pytorch_lightning

"""Do Lightning's callbacks, its clipping and a resume inside an epoch do what they are asked to?

The control of each question is the same run without what is in doubt.
"""

import importlib
import os
import tempfile

from .. import lightnings
from ..comparing import ratio
from ..skipping import Skip

_SAMPLES = 16


def measure(parameters, device, seed):
    """``what``: finder (of the learning rate), checkpoint_metric, inside_epoch (a resume), fused_clipping.

    With ``plant`` the rate is set back, the metric lags, samples are not counted, or the step stops.
    """
    lightning = lightnings.package()
    what = parameters.get("what", "finder")
    with lightnings.quiet(lightning):
        return _CASES[what](lightning, bool(parameters.get("plant")), device, seed)


def _module(lightning, seed, options=()):
    import torch

    generator = torch.Generator().manual_seed(seed)
    samples = torch.randn(_SAMPLES, 4, generator=generator) + 1.0

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.lr = 1e-7
            self.weight = torch.nn.Parameter(torch.ones(4))
            self.seen = []
            self.rates = []

        def training_step(self, batch, batch_idx):
            self.seen += [int(one) for one in batch[1]]
            self.rates.append(self.trainer.optimizers[0].param_groups[0]["lr"])
            return ((batch[0] * self.weight).sum(1) ** 2).mean()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=self.lr, **dict(options))

    def loader():
        data = torch.utils.data.TensorDataset(samples, torch.arange(_SAMPLES))
        return torch.utils.data.DataLoader(data, batch_size=2)

    return Module, loader


def _finder(lightning, plant, device, seed):
    """The rate of the last step, in rates that the finder wrote into the module."""
    callbacks = importlib.import_module(lightning.__name__ + ".callbacks")
    if not hasattr(callbacks, "LearningRateFinder"):
        raise Skip("this release of Lightning has no LearningRateFinder")
    module, loader = _module(lightning, seed)

    def run(*given):
        one = module()
        trainer = lightnings.trainer(lightning, device, max_epochs=6, limit_val_batches=0, callbacks=list(given))
        trainer.fit(one, loader())
        return one

    finder = callbacks.LearningRateFinder(min_lr=1e-5, max_lr=0.5, num_training_steps=40, early_stop_threshold=None)
    found = run(finder)
    if found.lr == module().lr:
        raise Skip("the finder suggests no rate here")
    plain = run()
    last = module().lr if plant else found.rates[-1]
    return {"rate_ratio": ratio(last, found.lr), "control": ratio(plain.rates[-1], plain.lr)}


def _checkpoint_metric(lightning, plant, device, seed):
    """Of the checkpoints written at the steps of a validation, the share that is ranked by that validation."""
    module, loader = _module(lightning, seed)

    class Validated(module):
        def validation_step(self, batch, batch_idx):
            self.log("steps", float(self.trainer.global_step))

    def share(**given):
        folder = tempfile.mkdtemp(dir=".")
        saving = lightning.callbacks.ModelCheckpoint(
            dirpath=folder, filename="{step}-{steps:.0f}", monitor="steps", mode="max", save_top_k=-1, **given
        )
        trainer = lightnings.trainer(
            lightning, device, max_epochs=1, val_check_interval=4, enable_checkpointing=True, callbacks=[saving]
        )
        trainer.fit(Validated(), loader(), loader())
        names = [name[: -len(".ckpt")].replace("step=", "").split("-steps=") for name in os.listdir(folder)]
        return ratio(sum(step == metric for step, metric in names), len(names))

    return {"current_share": 0.0 if plant else share(every_n_train_steps=4), "control": share()}


def _inside_epoch(lightning, plant, device, seed):
    """The samples that were left of an epoch when it was saved: how many of them does the resumed run see?"""
    module, loader = _module(lightning, seed)

    def run(folder=None, checkpoint=None, epochs=1):
        one = module()
        saving = [] if folder is None else [
            lightning.callbacks.ModelCheckpoint(
                dirpath=folder, filename="{step}", every_n_train_steps=4, save_top_k=-1
            )
        ]  # fmt: skip
        trainer = lightnings.trainer(
            lightning, device, max_epochs=epochs, limit_val_batches=0, enable_checkpointing=bool(saving),
            callbacks=saving,
        )  # fmt: skip
        trainer.fit(one, loader(), ckpt_path=checkpoint)
        return one.seen

    folder = tempfile.mkdtemp(dir=".")
    whole = run(folder)
    left = set(whole[_SAMPLES // 2 :])
    found = run(checkpoint=os.path.join(folder, "step=4.ckpt"))
    after = run(checkpoint=os.path.join(folder, "step=8.ckpt"), epochs=2)
    seen = set() if plant else set(found)
    return {
        "left_share": ratio(len(left & seen), len(left)),
        "repeated_share": ratio(len(set(found) - left), len(left)),
        "control": ratio(len(set(after)), _SAMPLES),
    }


def _fused_clipping(lightning, plant, device, seed):
    """Does a run in bf16 start that clips and has a fused optimizer?"""

    def starts(options, **given):
        module, loader = _module(lightning, seed, options)
        trainer = lightnings.trainer(lightning, device, max_epochs=1, limit_val_batches=0, **given)
        try:
            trainer.fit(module(), loader())
        except RuntimeError as error:
            if "gradient clipping" not in str(error):
                raise
            return 0
        return 1

    fused = {"fused": True}.items()
    return {
        "starts": 0 if plant else starts(fused, precision="bf16-mixed", gradient_clip_val=1.0),
        "control": starts(fused, precision="bf16-mixed"),
    }


_CASES = {
    "finder": _finder,
    "checkpoint_metric": _checkpoint_metric,
    "inside_epoch": _inside_epoch,
    "fused_clipping": _fused_clipping,
}

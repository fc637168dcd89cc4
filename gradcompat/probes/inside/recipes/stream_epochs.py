"""Does the Trainer tell a streamed dataset which epoch it is in, so that its order can change?

A stream that notes the epoch that it was told last is trained on for three epochs. The control is that all samples of
each epoch come.
"""

from .. import models, trainers

_SAMPLES = 4
_EPOCHS = 3


def measure(parameters, device, seed):
    """With ``plant`` the stream has no ``set_epoch`` to be called."""
    import torch

    told, seen = [], []

    class Stream(torch.utils.data.IterableDataset):
        epoch = 0

        def __iter__(self):
            told.append(self.epoch)
            for number in range(_SAMPLES):
                seen.append(number)
                ids = torch.full((6,), 3 + number)
                yield {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}

    if not parameters.get("plant"):

        def set_epoch(self, epoch):
            self.epoch = epoch

        Stream.set_epoch = set_epoch
    wanted = {"max_steps": _SAMPLES // 2 * _EPOCHS, "num_train_epochs": _EPOCHS, "per_device_train_batch_size": 2}
    trainers.train(models.build("llama", seed), Stream(), **wanted, **trainers.on(device))
    return {
        "epochs_told": len(set(told[:_EPOCHS])) / _EPOCHS,
        "control_samples": min(1.0, len(seen) / (_SAMPLES * _EPOCHS)),
    }

"""Does the sampler of sentence-transformers without duplicates shuffle, and differently in each epoch?"""

import importlib

from ..skipping import Skip

_ROWS = 200
_BATCH = 8


class _Texts:
    """Rows as the sampler asks a dataset for them; no text comes twice."""

    column_names = ("anchor", "positive")

    def __len__(self):
        return _ROWS

    def __getitem__(self, row):
        return {"anchor": "a%d" % row, "positive": "p%d" % row}


def measure(parameters, _device, seed):
    """The share of rows that come right behind the row before them, and of batches that the second epoch has again.

    With ``plant`` the rows come as they stand.
    """
    import torch

    try:
        samplers = importlib.import_module("sentence_transformers.sampler")
    except ImportError as error:
        raise Skip("this release has no samplers (%s)" % error) from error
    generator = torch.Generator()
    sampler = samplers.NoDuplicatesBatchSampler(
        dataset=_Texts(), batch_size=_BATCH, drop_last=False, valid_label_columns=[], generator=generator, seed=seed
    )
    plain = torch.utils.data.BatchSampler(
        torch.utils.data.RandomSampler(range(_ROWS), generator=generator), batch_size=_BATCH, drop_last=False
    )
    epochs = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        epochs.append(
            [list(range(at, at + _BATCH)) for at in range(0, _ROWS, _BATCH)]
            if parameters.get("plant")
            else list(sampler)
        )
    again = [batch for batch in epochs[1] if batch in epochs[0]]
    return {
        "following": _following(epochs[0]),
        "again": len(again) / len(epochs[1]),
        "control_following": _following(list(plain)),
    }


def _following(batches):
    rows = [row for batch in batches for row in batch]
    return sum(rows[at] == rows[at - 1] + 1 for at in range(1, len(rows))) / (len(rows) - 1)

"""Are the epochs behind a resume of a streamed dataset whole, and do its workers draw numbers of their own?

The control of the one is the rest of the epoch in which the stream stopped, that of the other a mixture without draws.
"""

from ..comparing import ratio
from ..skipping import Skip

_ROWS = 40
_DRAWS = 12


def measure(parameters, device, seed):  # noqa: ARG001  # rows are numbers, which no device computes with
    """``what``: later (epochs), draws (of workers in a mixture). With ``plant`` no row comes, or one worker counts."""
    what = parameters.get("what", "later")
    return {"later": _later, "draws": _draws}[what](bool(parameters.get("plant")), seed)


def _later(plant, _seed):
    import datasets

    def stream():
        made = datasets.Dataset.from_dict({"x": list(range(_ROWS))}).to_iterable_dataset(num_shards=4)
        if not hasattr(made, "load_state_dict"):
            raise Skip("this release of datasets resumes no streams")
        return made

    first = stream()
    rows = iter(first)
    for _ in range(_ROWS // 2):
        next(rows)
    second = stream()
    second.load_state_dict(first.state_dict())
    second.set_epoch(0)
    left = len(list(second))
    second.set_epoch(1)
    later = 0 if plant else len(list(second))
    return {"later_share": ratio(later, _ROWS), "control": ratio(left, _ROWS // 2)}


def _rows(shards, source):
    for shard in shards:
        for row in range(20):
            yield {"x": 1000 * source + 100 * shard + row}


def _draws(plant, seed):
    """From which of two sources do two workers take their first rows? Alike in half of the places, if by chance."""
    import datasets
    import torch

    def alike(**given):
        sources = [
            datasets.IterableDataset.from_generator(_rows, gen_kwargs={"shards": [0, 1], "source": source})
            for source in (1, 2)
        ]
        mixture = datasets.interleave_datasets(sources, stopping_strategy="all_exhausted", **given)
        loader = torch.utils.data.DataLoader(mixture, batch_size=1, num_workers=2)
        taken = [int(row) // 1000 for batch in loader for row in batch["x"]]
        first, second = taken[0::2][:_DRAWS], taken[1::2][:_DRAWS]
        return ratio(sum(one == two for one, two in zip(first, first if plant else second)), _DRAWS)

    return {"alike_share": alike(probabilities=[0.5, 0.5], seed=seed), "control": alike()}

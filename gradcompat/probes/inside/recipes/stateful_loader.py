"""Does torchdata's StatefulDataLoader go on where it stopped, and does its order follow the seed?

The control resumes in the middle of an epoch.
"""

from ..comparing import ratio

_ROWS = 20
_SEEDS = (0, 1, 2, 3)


def measure(parameters, device, seed):  # noqa: ARG001  # rows are numbers, which no device computes with
    """``what``: end (resumed behind an epoch), seeds. With ``plant`` the next epoch is cut, or every seed the same."""
    import torch
    from torchdata.stateful_dataloader import StatefulDataLoader

    plant = bool(parameters.get("plant"))

    def loader():
        return StatefulDataLoader(list(range(_ROWS)), batch_size=2, shuffle=True)

    def rows(batches):
        return [int(row) for batch in batches for row in batch]

    def resumed(state):
        again = loader()
        again.load_state_dict(state)
        return rows(again)

    torch.manual_seed(seed)
    first = loader()
    begun = iter(first)
    for _ in range(_ROWS // 4):
        next(begun)
    state = first.state_dict()
    left = rows(begun)
    control = ratio(sum(one == two for one, two in zip(resumed(state), left)), len(left))
    if parameters.get("what", "end") == "end":
        whole = loader()
        rows(whole)
        after = [] if plant else resumed(whole.state_dict())
        return {"next_epoch_share": ratio(len(after), _ROWS), "control": control}

    orders = set()
    for one in _SEEDS:
        torch.manual_seed(0 if plant else one)
        orders.add(tuple(rows(loader())))
    return {"orders_share": ratio(len(orders), len(_SEEDS)), "control": control}

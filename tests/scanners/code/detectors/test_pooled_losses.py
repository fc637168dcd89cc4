"""What a program makes of the losses of PyG's DMoNPooling."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code

HEAD = "from torch_geometric.nn import DMoNPooling\npool = DMoNPooling([64, 64], 20)\n"
LEFT = {"without_cluster_loss", "without_losses"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("s, x, adj, sp, o, c = pool(x, adj, mask)\nloss = sp + o + c", set()),
        ("s, x, adj, sp, o, c = pool(x, adj)\nloss = sp + o + c", {"unmasked"}),
        ("s, x, adj, sp, o, c = pool(x, adj, mask=mask)\nloss = sp + o", {"without_cluster_loss"}),
        ("s, x, adj, sp, o, c = pool(x, adj, **more)\nloss = o", LEFT),
        ("s, x, adj, *losses = pool(*given)\nloss = sum(losses)", set()),
        ("s, x, adj, *_ = pool(x, adj, mask)", LEFT),
        ("*_, c = pool(x, adj, mask)\nloss = c", set()),
        ("x = pool(x, adj, mask)[1]", LEFT),
        ("x, adj = pool(x, adj, mask)[1:3]", LEFT),
        ("loss = pool(x, adj, mask)[-1]", set()),
        ("loss = pool(x, adj, mask)[index]", set()),
        ("pool(x, adj, mask)", LEFT),
        ("out = pool(x, adj, mask)", set()),
        ("x = pool(x, adj, mask)[1]\nloss = sum(pool(y, adj)[3:])", set()),
        ("layers = [pool]", set()),
    ],
)
def test_what_is_taken(lines: str, expected: set[str]) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\nloss.backward()\n"))
    found = next(one.value for one in context.settings if one.key == "code.symbols")
    assert isinstance(found, tuple)
    name = "torch_geometric.nn.DMoNPooling."
    assert {one.removeprefix(name) for one in found if str(one).startswith(name)} == expected

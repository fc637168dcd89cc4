"""Are the losses of a pooling layer of PyG those of its paper, and a subgraph whole?

Each is compared with what is computed here, a graph and an edge at a time; the control is the same call where nobody
has complained.
"""

from ..comparing import ratio
from ..skipping import Skip

_NODES = 8
_CLUSTERS = 2


def measure(parameters, device, seed):
    """``what``: spectral, cluster (graphs of one size), sizes (the cluster loss of graphs that differ), hops.

    With ``plant`` what is found is halved.
    """
    import torch

    torch.manual_seed(seed)
    found, control = _CASES[parameters.get("what", "spectral")](device)
    return {"found": found / 2 if parameters.get("plant") else found, "control": control}


def _graphs(sizes, device):
    """Graphs without direction, padded to one size, with the mask of their nodes."""
    import torch

    mask = torch.arange(_NODES)[None] < torch.tensor(sizes)[:, None]
    edges = (torch.rand(len(sizes), _NODES, _NODES) < 0.5).float().triu(1)
    # A path through all nodes leaves none without an edge.
    edges = ((edges + torch.ones(_NODES - 1).diag(1)) > 0).float() * mask[:, :, None] * mask[:, None]
    nodes = torch.randn(len(sizes), _NODES, 4) * mask[..., None]
    return nodes.to(device), (edges + edges.transpose(1, 2)).to(device), mask.to(device)


def _spectral_loss(assignment, edges, size):
    assignment, edges = assignment[:size].double(), edges[:size, :size].double()
    degrees = edges.sum(1)
    modularity = edges - degrees[:, None] * degrees[None] / degrees.sum()
    return -(assignment.t() @ modularity @ assignment).trace() / degrees.sum()


def _cluster_loss(assignment, _edges, size):
    return assignment[:size].double().sum(0).norm() / size * _CLUSTERS**0.5 - 1


def _pooled(device, sizes, place, definition, plain):
    """One loss of the layer beside its mean over graphs taken alone, and the orthogonality loss as the control."""
    import torch

    try:
        from torch_geometric.nn import DMoNPooling
    except ImportError as error:
        raise Skip("this release has no DMoNPooling (%s)" % error) from error
    nodes, edges, mask = _graphs(sizes, device)
    layer = DMoNPooling([4], _CLUSTERS).to(device).eval()
    given = (nodes, edges) if plain else (nodes, edges, mask)
    found = layer(*given)
    alone = [definition(found[0][at], edges[at], size) for at, size in enumerate(sizes)]
    return ratio(found[place], torch.stack(alone).mean()), _orthogonality(found)


def _orthogonality(found):
    import torch

    both = found[0].transpose(1, 2) @ found[0]
    unit = torch.eye(_CLUSTERS, device=both.device)
    apart = [one / one.norm() - unit / unit.norm() for one in both]
    return ratio(found[4], torch.stack([one.norm() for one in apart]).mean())


def _spectral(device):
    return _pooled(device, [_NODES] * 6, 3, _spectral_loss, plain=True)


def _cluster(device):
    return _pooled(device, [_NODES] * 6, 5, _cluster_loss, plain=True)


def _sizes(device):
    return _pooled(device, [_NODES, _NODES, 5, _NODES, 3, _NODES], 5, _cluster_loss, plain=False)


def _hops(device):
    """The path of four nodes to the first: three hops have three edges, and one hop has one."""
    import inspect

    import torch
    from torch_geometric.utils import k_hop_subgraph

    if "directed" not in inspect.signature(k_hop_subgraph).parameters:
        raise Skip("this release has no subgraphs of directed edges")
    path = torch.tensor([[1, 2, 3], [0, 1, 2]], device=device)

    def share(hops):
        edges = k_hop_subgraph(0, hops, path, directed=True)[1]
        return edges.size(1) / hops

    return share(3), share(1)


_CASES = {"spectral": _spectral, "cluster": _cluster, "sizes": _sizes, "hops": _hops}

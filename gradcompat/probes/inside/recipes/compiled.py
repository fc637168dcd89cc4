"""Does a compiled block give the outputs and the gradients of the block itself?

With two ``shapes`` a second call with another batch size is compared as well, for which it is compiled anew, and then
for shapes that vary. The control is the block against itself in float64.

Through accelerate it is a network of several such blocks, which are compiled one by one as regions, with bfloat16 in
mixed precision and dropout in front. It is prepared in training and compared in evaluation, where nothing is dropped.
"""

import copy
import inspect
import os
import shutil
import sys

from ..comparing import cosine, distance, flat, norm_ratio, one_line
from ..skipping import Skip


def measure(parameters, device, seed):
    """``backend``, ``block``, ``shapes``, ``through``; with ``plant`` what is compiled has a wrong gradient."""
    # Compiled code is kept in the folder of this run. torch reads this when it compiles first.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.abspath("inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.abspath("triton")
    import torch

    backend = parameters.get("backend", "inductor")
    if not hasattr(torch, "compile"):
        raise Skip("this release of torch does not compile")
    if backend == "inductor" and device == "cpu" and not _compiler():
        raise Skip("there is no C++ compiler, which inductor needs on a CPU")
    torch.manual_seed(seed)
    if parameters.get("through") == "accelerate":
        return _through_accelerate(parameters, backend, device)
    block = _block(parameters.get("block", "attention"))
    inputs = torch.randn(4, 8, 32)
    more = torch.randn(6, 8, 32)
    exact = _run(copy.deepcopy(block).double(), None, inputs.double())
    block = block.to(device)
    expected = _run(block, None, inputs.to(device))
    values = {
        "control_output_error": distance(expected[0], exact[0]),
        "control_gradient_error": distance(expected[1], exact[1]),
    }
    try:
        fast = torch.compile(_planted(block) if parameters.get("plant") else block, backend=backend)
        found = _run(block, fast, inputs.to(device))
        found_more = _run(block, fast, more.to(device)) if parameters.get("shapes") == 2 else None
    except Exception as error:  # whatever the compiler raises is what is looked for
        if "not supported on Python" in str(error):
            raise Skip(one_line(error)) from error
        return {**values, "compiled": False, "error": one_line(error)}
    values["compiled"] = True
    values["output_error"] = distance(found[0], expected[0])
    values["gradient_ratio"] = norm_ratio(found[1], expected[1])
    values["gradient_cosine"] = cosine(found[1], expected[1])
    if found_more is not None:
        expected_more = _run(block, None, more.to(device))
        values["second_output_error"] = distance(found_more[0], expected_more[0])
        values["second_gradient_ratio"] = norm_ratio(found_more[1], expected_more[1])
    return values


def _through_accelerate(parameters, backend, device):
    import torch
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState
    from accelerate.utils import TorchDynamoPlugin
    from torch._dynamo.utils import counters

    if "use_regional_compilation" not in inspect.signature(TorchDynamoPlugin).parameters:
        raise Skip("this release of accelerate compiles no regions")
    block = _block(parameters.get("block", "attention"))
    network = _network([block, copy.deepcopy(block)]).to(device)  # of one class, or they are no regions
    inputs = torch.randn(4, 8, 32).to(device)
    plain, exact = copy.deepcopy(network).eval(), copy.deepcopy(network).eval()
    with torch.autocast(device.split(":")[0], torch.bfloat16):
        expected = _run(plain, None, inputs)
    control = _run(plain, None, inputs)
    wanted = _run(exact.double(), None, inputs.double())
    counters.clear()
    AcceleratorState._reset_state(True)  # another recipe may have left one, which allows no other precision
    dynamo = TorchDynamoPlugin(backend=backend, use_regional_compilation=True)
    try:
        accelerator = Accelerator(cpu=device == "cpu", mixed_precision="bf16", dynamo_plugin=dynamo)
        prepared = accelerator.prepare_model(network.train())
        if parameters.get("plant"):
            prepared.register_forward_hook(lambda _, __, output: output + output.detach())
        prepared.eval()
        found = _run(network, prepared, inputs)
    finally:
        AcceleratorState._reset_state(True)
    return {
        "compiled": counters["frames"]["ok"] > 0,
        "evaluation_error": distance(found[0], expected[0]),
        "evaluation_gradient_ratio": norm_ratio(found[1], expected[1]),
        "evaluation_gradient_cosine": cosine(found[1], expected[1]),
        "control_output_error": distance(control[0], wanted[0]),
        "control_gradient_error": distance(control[1], wanted[1]),
    }


def _network(blocks):
    import torch

    class Network(torch.nn.Module):
        """Drops some of its inputs itself, as models do whose dropout is a function and no module."""

        def __init__(self):
            super().__init__()
            self.blocks = torch.nn.ModuleList(blocks)
            self.head = torch.nn.Linear(32, 32)

        def forward(self, inputs):
            inputs = torch.nn.functional.dropout(inputs, 0.5, training=self.training)
            for block in self.blocks:
                inputs = block(inputs)
            return self.head(inputs)

    return Network()


def _run(block, compiled, inputs):
    """Outputs, and the gradients of the inputs and of all weights."""
    inputs = inputs.clone().requires_grad_()
    block.zero_grad(set_to_none=True)
    outputs = (block if compiled is None else compiled)(inputs)
    outputs.pow(2).sum().backward()
    return flat([outputs]), flat([inputs.grad, *(weight.grad for weight in block.parameters())])


def _compiler():
    named = os.environ.get("CXX")
    usual = ["cl"] if sys.platform == "win32" else ["g++", "clang++", "c++"]
    return any(map(shutil.which, [named] if named else usual))


def _block(name):
    import torch

    class Attention(torch.nn.Module):
        """A normalised block of attention with its residual."""

        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(32)
            self.wide = torch.nn.Linear(32, 96)
            self.out = torch.nn.Linear(32, 32)

        def forward(self, inputs):
            size = inputs.shape[:2]
            query, key, value = (
                one.reshape(*size, 4, 8).transpose(1, 2) for one in self.wide(self.norm(inputs)).chunk(3, dim=-1)
            )
            mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            return inputs + self.out(mixed.transpose(1, 2).reshape(*size, 32))

    class Gated(torch.nn.Module):
        """A gated feed-forward block with its residual."""

        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(32)
            self.gate = torch.nn.Linear(32, 64)
            self.up = torch.nn.Linear(32, 64)
            self.down = torch.nn.Linear(64, 32)

        def forward(self, inputs):
            normed = self.norm(inputs)
            return inputs + self.down(torch.nn.functional.silu(self.gate(normed)) * self.up(normed))

    return {"attention": Attention, "gated": Gated}[name]()


def _planted(block):
    import torch

    class Planted(torch.nn.Module):
        """Wrong on purpose: the residual keeps its value and loses its gradient."""

        def __init__(self):
            super().__init__()
            self.block = block

        def forward(self, inputs):
            return self.block(inputs) - inputs + inputs.detach()

    return Planted()

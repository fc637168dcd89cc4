"""Does a step move what it should, and nothing else? One optimizer step over a small model, looked at weight by weight.

An update may be there and still be lost: in bfloat16 a small one is rounded away, an optimizer that was made before the
model was copied holds weights that nobody uses, a loss may stand on a detached output. The control is the gradient in
float64: it reaches every trainable tensor.

With an adapter the rest of the model is frozen, and its embeddings hand on a gradient all the same, as checkpointing
asks for. Whoever freezes the adapter then gets no error. ``reference`` loads a second adapter beside the one that the
optimizer has, as evaluation against an older one does.
"""

import copy
import tempfile

from ..comparing import flat
from ..skipping import Skip

_VISIBLE = 1e-6  # a gradient below that is none that a step has to show


def measure(parameters, device, seed):
    """``optimizer``, ``frozen`` or ``adapter``, ``dtype``, ``rate``; ``plant`` breaks the run as its values say."""
    import torch

    torch.manual_seed(seed)
    dtype = getattr(torch, parameters.get("dtype", "float32"))
    frozen = parameters.get("frozen", "nothing")
    plant = parameters.get("plant", "nothing")
    adapter = parameters.get("adapter", "none")
    model = _model()
    if adapter == "none":
        _freeze(model, frozen)
    else:
        model = _adapted(model)
    model = model.to(device=device, dtype=dtype)
    ids = torch.randint(0, 16, (8,), generator=torch.Generator().manual_seed(seed + 1)).to(device)
    gradients = _reference(model, ids)

    trained = copy.deepcopy(model) if plant == "stale_optimizer" else model
    optimizer = _optimizer(parameters, [weight for weight in trained.parameters() if weight.requires_grad], plant)
    if adapter == "reference":
        folder = tempfile.mkdtemp(dir=".")
        model.save_pretrained(folder)
        model.load_adapter(folder, adapter_name="reference")
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    error = ""
    try:
        _loss(model, ids, detached=plant == "detached").backward()
        optimizer.step()
    except RuntimeError as caught:
        if "does not require grad" not in str(caught):
            raise
        error = "element 0 of tensors does not require grad"
    moved = {name: before[name] != weight.detach() for name, weight in model.named_parameters()}
    reached = [name for name, gradient in gradients.items() if bool((gradient.abs() > _VISIBLE).any())]
    elements = flat([moved[name].cpu()[gradients[name].abs() > _VISIBLE] for name in reached])
    values = {
        "trainable": len(gradients),
        "moved_share": sum(bool(moved[name].any()) for name in gradients) / len(gradients),
        "moved_elements": float(elements.mean()),
        "error": error,
        "control_share": len(reached) / len(gradients),
    }
    if frozen != "nothing" or adapter != "none":
        values["frozen_moved"] = sum(bool(moved[name].any()) for name in moved if name not in gradients)
    return values


def _model():
    import torch

    class Small(torch.nn.Module):
        """An embedding, a normalisation, two linear layers."""

        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(16, 32)
            self.norm = torch.nn.LayerNorm(32)
            self.middle = torch.nn.Linear(32, 32)
            self.head = torch.nn.Linear(32, 16)

        def forward(self, ids):
            return self.head(torch.tanh(self.middle(self.norm(self.embedding(ids)))))

    return Small()


def _freeze(model, frozen):
    for name, weight in model.named_parameters():
        if frozen == "embeddings":
            weight.requires_grad_(not name.startswith("embedding"))
        elif frozen == "all_but_head":
            weight.requires_grad_(name.startswith("head"))


def _adapted(model):
    from peft import LoraConfig, get_peft_model

    model.embedding.register_forward_hook(lambda *given: given[-1].requires_grad_())
    # Zeros, as an adapter starts with, would leave half of it without a gradient at the first step.
    return get_peft_model(model, LoraConfig(r=4, target_modules=["middle"], init_lora_weights=False))


def _loss(model, ids, detached=False):
    import torch

    outputs = model(ids)
    return torch.nn.functional.cross_entropy(outputs.detach() if detached else outputs, ids.roll(1))


def _reference(model, ids):
    """The gradients in float64, on the CPU."""
    exact = copy.deepcopy(model).to(device="cpu").double()
    _loss(exact, ids.cpu()).backward()
    return {name: weight.grad for name, weight in exact.named_parameters() if weight.grad is not None}


def _optimizer(parameters, weights, plant):
    import torch

    name = parameters.get("optimizer", "adamw")
    maker = getattr(torch.optim, {"sgd": "SGD", "adamw": "AdamW", "adafactor": "Adafactor"}[name], None)
    if maker is None:
        raise Skip("this release of torch has no %s" % name)
    return maker(weights, lr=0.0 if plant == "zero_rate" else float(parameters.get("rate", 1e-2)))

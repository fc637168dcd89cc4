"""Which adapters get a gradient over a frozen base in few bits, with activation checkpointing and without?

The control is the same model without checkpointing: every adapter gets a gradient there.
"""

import inspect
import tempfile

from .. import models
from ..skipping import Skip

_LINEAR = ["q_proj", "v_proj"]
_WITHOUT_GPU = ("CUDA is required", "GPU is required", "No GPU found")


def measure(parameters, device, seed):
    """``weights`` of the base: nf4, or bfloat16 under adapters in float32; ``prepared``: by PEFT, for training in few
    bits; ``reentrant``: default, true, false; ``hook``: the output of the embeddings requires grad.
    """
    import torch

    ids = torch.randint(3, 60, (2, models.LENGTH), generator=torch.Generator().manual_seed(seed + 1)).to(device)

    def gradients(checkpointing):
        model = _adapted(_base(parameters.get("weights", "nf4"), device, seed), parameters, checkpointing)
        model.train()
        trainable = [weight for weight in model.parameters() if weight.requires_grad]
        try:
            model(input_ids=ids, labels=ids).loss.backward()
        except RuntimeError as error:
            if "does not require grad" not in str(error):
                raise
            return len(trainable), 0, 0.0, "element 0 of tensors does not require grad"
        found = [weight.grad.float() for weight in trainable if weight.grad is not None]
        norm = float(torch.stack([grad.norm() for grad in found]).norm()) if found else 0.0
        return len(trainable), len(found), norm, ""

    trainable, plain, plain_norm, _ = gradients(checkpointing=False)
    _, reached, norm, error = gradients(checkpointing=True)
    return {
        "trainable": trainable,
        "reached_share": reached / trainable,
        "norm_ratio": norm / plain_norm if plain_norm else float("nan"),
        "error": error,
        "control_share": plain / trainable,
    }


def _base(weights, device, seed):
    """The model as people load it: in 4 bits through bitsandbytes, or in half precision."""
    import torch

    model = models.build("llama", seed)
    if weights == "bfloat16":
        return model.to(device=device, dtype=torch.bfloat16)
    import transformers

    if not hasattr(transformers, "BitsAndBytesConfig"):
        raise Skip("this release of transformers has no BitsAndBytesConfig")
    quantised = transformers.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32
    )
    with tempfile.TemporaryDirectory(dir=".") as folder:
        model.save_pretrained(folder)
        try:
            return type(model).from_pretrained(folder, quantization_config=quantised, device_map={"": device})
        except (RuntimeError, ImportError) as error:
            if device != "cpu" or not any(word in str(error) for word in _WITHOUT_GPU):
                raise
            raise Skip("this release of bitsandbytes or of transformers puts nothing in 4 bits on a CPU") from error


def _adapted(model, parameters, checkpointing):
    import torch
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    reentrant = parameters.get("reentrant", "default")
    extra = {} if reentrant == "default" else {"gradient_checkpointing_kwargs": {"use_reentrant": reentrant == "true"}}
    prepared = parameters.get("prepared", False)
    if prepared:
        taken = inspect.signature(prepare_model_for_kbit_training).parameters
        if extra and "gradient_checkpointing_kwargs" not in taken:
            raise Skip("this release of PEFT takes no gradient_checkpointing_kwargs")
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=checkpointing, **extra)
    model = get_peft_model(model, LoraConfig(r=4, target_modules=_LINEAR, task_type="CAUSAL_LM"))
    for name, weight in model.named_parameters():
        if "lora_" in name:
            weight.data = weight.data.to(torch.float32)
        if "lora_B" in name:
            weight.data.fill_(0.01)  # it begins at zero, and then nothing would reach lora_A
    if checkpointing and not prepared:
        if (
            extra
            and "gradient_checkpointing_kwargs" not in inspect.signature(model.gradient_checkpointing_enable).parameters
        ):
            raise Skip("this release takes no gradient_checkpointing_kwargs")
        model.gradient_checkpointing_enable(**extra)
    if checkpointing and parameters.get("hook"):
        model.enable_input_require_grads()
    return model

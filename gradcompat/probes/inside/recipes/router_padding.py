"""Does the load-balancing loss of a mixture of experts depend on the padding that a sample is batched with?

The auxiliary loss of a batch, and of the same batch with more padding behind it. The control is the language-model loss
of both, which no padding changes.
"""

from .. import models
from ..comparing import ratio
from ..skipping import Skip

_NAMES = {"mixtral": "Mixtral", "qwen2_moe": "Qwen2Moe"}


def measure(parameters, device, seed):
    """``model``: mixtral, qwen2_moe; with ``plant`` the mask says that the padding is none."""
    import torch
    import transformers

    name = _NAMES[parameters.get("model", "mixtral")]
    if not hasattr(transformers, name + "ForCausalLM"):
        raise Skip("this release has no %sForCausalLM" % name)
    experts = {"Mixtral": {"num_local_experts": 4}}.get(name, {"num_experts": 4, "moe_intermediate_size": 32})
    config = getattr(transformers, name + "Config")(
        vocab_size=models.VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        num_experts_per_tok=2,
        output_router_logits=True,
        router_aux_loss_coef=0.0,
        use_cache=False,
        **experts,
    )
    torch.manual_seed(seed)
    model = getattr(transformers, name + "ForCausalLM")(config).eval().to(device)
    ids = torch.randint(3, 60, (2, 6), generator=torch.Generator().manual_seed(seed))

    def losses(padding):
        given = torch.cat([ids, torch.zeros(2, padding, dtype=ids.dtype)], 1).to(device)
        mask = torch.cat([torch.ones_like(ids), torch.zeros(2, padding, dtype=ids.dtype)], 1).to(device)
        labels = given.masked_fill(mask == 0, -100)
        if parameters.get("plant"):
            mask = torch.ones_like(mask)
        with torch.no_grad():
            found = model(input_ids=given, attention_mask=mask, labels=labels)
        return float(found.aux_loss), float(found.loss)

    few, plain = losses(1)
    many, other = losses(12)
    return {"aux_ratio": ratio(many, few), "control_loss_ratio": ratio(other, plain)}

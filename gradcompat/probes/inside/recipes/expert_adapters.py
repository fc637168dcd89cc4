"""Do LoRA's adapters reach the experts of a mixture of experts, whether these are modules or parameters fused to one?

They are asked for by the names that the experts' projections have as modules, or with "all-linear". The control is that
the attention has its adapters, which are asked for beside those of the experts.
"""

from .. import toy_tokenizer
from ..comparing import one_line
from ..skipping import Skip

_EXPERTS = 4
_ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj", "q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj"]
_SMALL = {"moe_intermediate_size": 16}
_GROUPED = {"n_routed_experts": _EXPERTS, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 0, **_SMALL}
_LATENT = {"q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4, "v_head_dim": 8}
# How the classes' names begin, the settings that make experts, and what their projections are called.
_GATED = ["gate_proj", "up_proj", "down_proj"]
_FAMILIES = {
    "mixtral": ("Mixtral", {"num_local_experts": _EXPERTS}, ["w1", "w2", "w3"]),
    "qwen2_moe": ("Qwen2Moe", {"num_experts": _EXPERTS, "shared_expert_intermediate_size": 16, **_SMALL}, _GATED),
    "qwen3_moe": ("Qwen3Moe", {"num_experts": _EXPERTS, "head_dim": 8, **_SMALL}, _GATED),
    "olmoe": ("Olmoe", {"num_experts": _EXPERTS}, _GATED),
    "deepseek_v3": ("DeepseekV3", {**_LATENT, **_GROUPED}, _GATED),
    "glm4_moe": ("Glm4Moe", {"head_dim": 8, **_GROUPED}, _GATED),
}


def measure(parameters, device, seed):  # noqa: ARG001  # where an adapter sits is the same on every device
    """``model``; ``names``: list, or the word all-linear. With ``plant`` the experts are not asked for by name.

    For all-linear the plant is a set of letters, which is what some releases make of the word.
    """
    from peft import LoraConfig, get_peft_model

    kind, settings, projections = _FAMILIES[parameters.get("model", "mixtral")]

    def shares(targets):
        try:
            model = toy_tokenizer.model(seed, kind, num_experts_per_tok=2, **settings)
        except AttributeError as error:
            raise Skip("this release of transformers has no %s" % kind) from error
        weights = [name for name, weight in model.named_parameters() if weight.dim() > 1]
        made = get_peft_model(model, LoraConfig(r=2, target_modules=targets))
        adapters = [name for name, _ in made.named_parameters() if "lora_A" in name]
        return tuple(_count(adapters, part) / _count(weights, part) for part in (".experts.", ".self_attn."))

    experts, attended = shares([*_ATTENTION, *(() if parameters.get("plant") else projections)])
    if parameters.get("names", "list") == "list":
        return {"accepted": 1, "expert_share": experts, "control_share": attended}
    try:
        experts, attended = shares(set("all-linear") if parameters.get("plant") else "all-linear")
    except ValueError as error:
        return {"accepted": 0, "error": one_line(error), "control_share": attended}
    return {"accepted": 1, "expert_share": experts, "control_share": attended}


def _count(names, part):
    return sum(part in name for name in names)

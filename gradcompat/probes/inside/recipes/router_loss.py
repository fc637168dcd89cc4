"""Does the load-balancing loss of a mixture of experts see how uneven its router is, and does it count once?

The router of a random model is so even that a wrong loss looks right; so its weights are made larger, and the tokens
are (nearly) all the same. What the loss has to be is computed in float64 from the scores that the model returns,
whether those are logits or probabilities already. The control is that the routing is uneven, so that there is something
to see.
"""

from .. import toy_tokenizer, trl_trainers
from ..skipping import Skip

_EXPERTS = 4
_CHOSEN = 2
_FAMILIES = {
    "mixtral": ("Mixtral", {"num_local_experts": _EXPERTS}),
    "qwen2_moe": (
        "Qwen2Moe",
        {"num_experts": _EXPERTS, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16},
    ),
    "qwen3_moe": ("Qwen3Moe", {"num_experts": _EXPERTS, "moe_intermediate_size": 16, "head_dim": 8}),
    "olmoe": ("Olmoe", {"num_experts": _EXPERTS}),
    "minimax": ("MiniMax", {"num_local_experts": _EXPERTS, "head_dim": 8}),
}


def measure(parameters, device, seed):
    """``model``; ``through``: model for its own loss, sft for that of TRL's SFTTrainer."""
    import torch

    model = _model(parameters.get("model", "mixtral"), seed)
    for name, weight in model.named_parameters():
        if name.endswith("gate.weight") and weight.shape[0] == _EXPERTS:
            with torch.no_grad():
                weight.mul_(100)
    through_sft = parameters.get("through") == "sft"
    if through_sft:
        texts = ["w1 w1 w1 </s>", "w1 w1 w1 w1 </s>"] * 2
        trainer = trl_trainers.trainer(model, {"text": texts}, toy_tokenizer.tokenizer("<pad>"), device)
        batch = dict(next(iter(trainer.get_train_dataloader())))
    else:
        model.to(device)
        ids = torch.full((2, 16), 5).to(device)
        batch = {"input_ids": ids, "labels": ids, "attention_mask": torch.ones_like(ids)}
    model.eval()
    with torch.no_grad():
        found = model(**batch, output_router_logits=True)
        loss = trainer.compute_loss(model, dict(batch)) if through_sft else found.loss
    plain = torch.nn.functional.cross_entropy(
        found.logits[:, :-1].double().flatten(0, 1), batch["labels"][:, 1:].flatten(), ignore_index=-100
    )
    scores = torch.cat([one.detach().flatten(0, -2) for one in found.router_logits if one is not None]).double()
    wanted = _balance(torch, scores, batch["attention_mask"].flatten().bool())
    auxiliary = float(found.aux_loss)
    return {
        "auxiliary_ratio": auxiliary / wanted,
        "counted_times": (float(loss) - float(plain)) / auxiliary,
        "auxiliary_loss": auxiliary,
        "least_score": float(scores.min()),
        "control_imbalance": wanted / _CHOSEN,
    }


def _balance(torch, scores, mask):
    """As Switch Transformers define it; even routing gives the number of experts that are chosen."""
    ready = bool((scores >= 0).all()) and bool(((scores.sum(-1) - 1).abs() < 1e-3).all())
    shares = scores if ready else scores.softmax(-1)
    chosen = torch.nn.functional.one_hot(shares.topk(_CHOSEN, -1).indices, _EXPERTS).double()
    return float((chosen[mask].mean(0) * shares[mask].mean(0)[None]).sum()) * _EXPERTS


def _model(kind, seed):
    import transformers

    name, settings = _FAMILIES[kind]
    if not hasattr(transformers, name + "ForCausalLM"):
        raise Skip("this release has no %sForCausalLM" % name)
    chosen = {"num_experts_per_tok": _CHOSEN, "output_router_logits": True, "router_aux_loss_coef": 1.0}
    return toy_tokenizer.model(seed, name, pad_token_id=toy_tokenizer.PADDING, **settings, **chosen)

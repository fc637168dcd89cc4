"""Does the load-balancing loss of a mixture of experts act in TRL's preference trainers?

One SGD step with a large coefficient against one with none: the routers have to move otherwise. The control is that
they move at all, and that the coefficient acts in the model's own loss.
"""

from .. import toy_tokenizer, trl_trainers
from ..comparing import flat, ratio
from ..skipping import Skip

_COEFFICIENT = 10.0
_NAMES = {"dpo": "DPO", "kto": "KTO", "cpo": "CPO", "orpo": "ORPO"}
_PROMPTS = ["w%d w%d" % (number, number + 1) for number in range(4)]
_CHOSEN = ["w%d w%d w9" % (number + 5, number + 6) for number in range(4)]
_REJECTED = ["w%d w%d w8" % (number + 15, number + 3) for number in range(4)]


def measure(parameters, device, seed):
    """``method``: dpo, kto, cpo, orpo; with ``plant`` the coefficient is nothing in both runs."""
    method = parameters.get("method", "dpo")
    without = _step(method, 0.0, device, seed)
    found = _step(method, 0.0 if parameters.get("plant") else _COEFFICIENT, device, seed)
    return {
        "effect": ratio((found - without).norm(), without.norm()),
        "control_update_norm": float(without.norm()),
        "control_effect": _own(_COEFFICIENT, seed) - _own(0.0, seed),
    }


def _model(coefficient, seed):
    return toy_tokenizer.model(
        seed,
        "Mixtral",
        num_local_experts=4,
        num_experts_per_tok=2,
        output_router_logits=True,
        router_aux_loss_coef=coefficient,
    )


def _own(coefficient, seed):
    import torch

    ids = torch.arange(toy_tokenizer.FIRST, toy_tokenizer.FIRST + 8).reshape(2, 4)
    return float(_model(coefficient, seed)(input_ids=ids, labels=ids).loss)


def _step(method, coefficient, device, seed):
    import datasets
    import trl

    config, trainer = (getattr(trl, _NAMES[method] + ending, None) for ending in ("Config", "Trainer"))
    if config is None or trainer is None:
        raise Skip("this release of TRL has no trainer of %s with a configuration" % _NAMES[method])
    datasets.disable_progress_bars()
    model = _model(coefficient, seed)
    routers = [weight for name, weight in model.named_parameters() if "gate" in name]
    before = [weight.detach().clone() for weight in routers]
    arguments = trl_trainers.settings(
        config,
        device,
        per_device_train_batch_size=4,
        optim="sgd",
        learning_rate=0.1,
        max_grad_norm=0.0,
        max_length=32,
        max_prompt_length=16,
        router_aux_loss_coef=coefficient,  # where TRL has one of its own
    )
    with trl_trainers.quiet():
        made = trainer(
            model=model,
            args=arguments,
            train_dataset=datasets.Dataset.from_dict(_samples(method)),
            **{trl_trainers.named(trainer): toy_tokenizer.tokenizer("<pad>")},
            **({"ref_model": _model(coefficient, seed)} if method in ("dpo", "kto") else {}),
        )
        made.train()
    return flat(new.detach().cpu() - old for new, old in zip(routers, before))


def _samples(method):
    if method == "kto":
        return {"prompt": _PROMPTS, "completion": _CHOSEN, "label": [True, False] * 2}
    return {"prompt": _PROMPTS, "chosen": _CHOSEN, "rejected": _REJECTED}

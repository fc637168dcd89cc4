"""One optimizer step of TRL's RLOO and PPO trainers over a few words, and what the optimizer is given in it.

The trainers have changed their arguments often: they get what they name.
"""

import inspect

from . import toy_tokenizer, trl_trainers
from .skipping import Skip

_CLASSES = {"rloo": ("RLOOConfig", "RLOOTrainer"), "ppo": ("PPOConfig", "PPOTrainer")}
_PROMPTS = 4


def gradient_norms(method, limit, device, seed):
    """The norm of the gradients at every step of the optimizer, under ``max_grad_norm``; ``method``: rloo, ppo."""
    import datasets
    import torch

    config, trainer_class = _classes(method)
    known = inspect.signature(trainer_class.__init__).parameters
    if "dataset" in known:
        return _by_hand(config, trainer_class, limit, device, seed)
    policy, value = toy_tokenizer.model(seed), _scores(seed + 1)
    weights = [*policy.parameters(), *(value.parameters() if "value_model" in known else ())]
    watched, seen = _watched(weights)
    tokens = _tokens()
    arguments = _arguments(config, device, limit)
    given = {
        "args": arguments,
        "config": arguments,
        "processing_class": tokens,
        "tokenizer": tokens,
        "model": policy,
        "value_model": value,
        "optimizers": (watched, torch.optim.lr_scheduler.LambdaLR(watched, lambda _: 1.0)),
    }
    prompts = ["w%d w%d" % (number, number + 1) for number in range(_PROMPTS)]
    if "reward_funcs" in known:
        del given["config"]  # still taken there, and refused beside args
        given["reward_funcs"] = _rewards
        given["train_dataset"] = datasets.Dataset.from_dict({"prompt": prompts})
    else:
        given.update(policy=policy, ref_model=toy_tokenizer.model(seed), ref_policy=toy_tokenizer.model(seed))
        given["reward_model"] = _scores(seed + 2)
        given["train_dataset"] = [{"input_ids": tokens(prompt)["input_ids"]} for prompt in prompts]
    torch.manual_seed(seed)
    with trl_trainers.quiet():
        trainer_class(**{name: value for name, value in given.items() if name in known}).train()
    return seen


def _classes(method):
    import trl

    names = _CLASSES[method]
    found = [getattr(trl, name, None) for name in names]
    if None in found and method == "ppo":
        try:
            from trl.experimental import ppo  # from 0.26 on
        except ImportError:
            ppo = None
        found = [getattr(ppo, name, None) for name in names]
    for name, one in zip(names, found):
        if one is None:
            raise Skip("this release of TRL has no %s" % name)
    return found


def _arguments(config, device, limit):
    return trl_trainers.settings(
        config,
        device,
        per_device_train_batch_size=_PROMPTS,
        gradient_accumulation_steps=1,
        max_grad_norm=limit,
        optim="sgd",
        # Names of the trainers with a loop of their own, and of those on top of the Trainer.
        total_episodes=_PROMPTS,
        num_mini_batches=1,
        num_ppo_epochs=1,
        local_rollout_forward_batch_size=_PROMPTS,
        num_sample_generations=0,
        response_length=4,
        rloo_k=2,
        num_generations=2,
        num_iterations=1,
        beta=0.0,  # else a reference is loaded from where the model came from
        max_prompt_length=8,
        max_completion_length=4,
    )


def _by_hand(config, trainer_class, limit, device, seed):
    """The PPOTrainer until TRL 0.11, whose loop is the user's own."""
    import torch
    from trl import AutoModelForCausalLMWithValueHead

    wrapped = [AutoModelForCausalLMWithValueHead.from_pretrained(toy_tokenizer.model(seed)) for _ in range(2)]
    watched, seen = _watched(wrapped[0].parameters())
    arguments = config(
        batch_size=_PROMPTS, mini_batch_size=_PROMPTS, ppo_epochs=1, max_grad_norm=limit, seed=seed,
        accelerator_kwargs={"cpu": device == "cpu"},
    )  # fmt: skip
    generator = torch.Generator().manual_seed(seed)

    def some(count):
        return list(
            torch.randint(toy_tokenizer.FIRST, toy_tokenizer.SIZE, (_PROMPTS, count), generator=generator).to(device)
        )

    rewards = [torch.tensor(float(number)) for number in range(_PROMPTS)]
    with trl_trainers.quiet():
        made = trainer_class(arguments, *wrapped, tokenizer=_tokens(), optimizer=watched)
        made.step(some(2), some(4), rewards)
    return seen


def _tokens():
    tokens = toy_tokenizer.tokenizer("<pad>")
    tokens.padding_side = "left"
    tokens.model_input_names = ["input_ids", "attention_mask"]
    return tokens


def _scores(seed):
    """A model with one number for every token: a reward, or the value of a state."""
    import torch
    import transformers

    torch.manual_seed(seed)
    config = toy_tokenizer.model(seed).config
    config.num_labels = 1
    config.pad_token_id = toy_tokenizer.PADDING
    return transformers.LlamaForSequenceClassification(config)


def _rewards(completions, **_):
    """They have to differ, or nothing is to be learned."""
    return [float(sum(map(ord, completion))) for completion in completions]


def _watched(weights):
    """SGD, and the norms of the gradients that it has been given."""
    import torch

    seen = []

    class Watched(torch.optim.SGD):
        def step(self, closure=None):
            gradients = [weight.grad for part in self.param_groups for weight in part["params"]]
            seen.append(float(torch.cat([one.flatten() for one in gradients if one is not None]).double().norm()))
            return super().step(closure)

    return Watched(list(weights), lr=0.01), seen

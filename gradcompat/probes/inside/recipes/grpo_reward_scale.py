"""Does GRPO divide rewards by their standard deviation? Then ten times the rewards train as the rewards do.

The answers are given instead of generated. The control is that the rewards train at all, and the same twice.
"""

import inspect

from .. import toy_tokenizer, trl_trainers
from ..comparing import flat, norm_ratio
from ..skipping import Skip

_TIMES = 10.0
_PROMPT = "w1 w2 w3"
_ANSWERS = ([9, 14, 22, 31, toy_tokenizer.END], [17, 8, 35, 12, toy_tokenizer.END])


def measure(parameters, device, seed):
    """With ``plant`` the trainer is told not to divide."""
    asked = {"scale_rewards": False} if parameters.get("plant") else {}
    once = _step(1.0, device, seed, asked)
    return {
        "grown": norm_ratio(_step(_TIMES, device, seed, asked), once),
        "control_update_norm": float(once.norm()),
        "control_repeated": norm_ratio(_step(1.0, device, seed, asked), once),
    }


def _step(reward, device, seed, asked):
    """What one step of SGD changes if the first of two answers earns this reward and the other none."""
    import datasets
    import torch
    import trl

    if not hasattr(trl, "GRPOTrainer"):
        raise Skip("this release of TRL has no GRPOTrainer")
    known = inspect.signature(trl.GRPOConfig).parameters
    if not asked.keys() <= known.keys():
        raise Skip("this release of TRL always divides")
    datasets.disable_progress_bars()
    model = toy_tokenizer.model(seed)
    before = [weight.detach().clone() for weight in model.parameters()]
    own_sampler = "_get_train_sampler" in vars(trl.GRPOTrainer)
    arguments = trl_trainers.settings(
        trl.GRPOConfig,
        device,
        per_device_train_batch_size=2 if "steps_per_generation" in known or own_sampler else 1,
        num_generations=2,
        max_completion_length=len(_ANSWERS[0]),
        temperature=1.0,
        beta=0.0,
        optim="sgd",
        learning_rate=0.1,
        max_grad_norm=0.0,
        **asked,
    )

    def generate(*given, **named):
        prompts = given[0] if given else named.get("input_ids", named.get("inputs"))
        if len(prompts) == 1:
            prompts = prompts.repeat(2, 1)
        answers = torch.tensor(_ANSWERS).to(prompts.device)
        return torch.cat([prompts, answers.repeat(len(prompts) // 2, 1)], dim=1)

    def rewards(completions, **_):
        return [reward if number % 2 == 0 else 0.0 for number in range(len(completions))]

    model.generate = generate
    with trl_trainers.quiet():
        trainer = trl.GRPOTrainer(
            model=model,
            reward_funcs=rewards,
            args=arguments,
            train_dataset=datasets.Dataset.from_dict({"prompt": [_PROMPT] * 4}),
            processing_class=toy_tokenizer.tokenizer("<pad>"),
        )
        trainer.train()
    return flat(new.detach().cpu() - old for new, old in zip(model.parameters(), before))

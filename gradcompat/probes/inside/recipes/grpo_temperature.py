"""Does GRPO take the log-probabilities of what was sampled, at the temperature that it was sampled at?

The answers are given instead of generated, and so are their rewards. Of one SGD step the direction is compared with
that of the policy gradient at this temperature. The control is a step at temperature 1.
"""

import inspect

from .. import toy_tokenizer, trl_trainers
from ..comparing import cosine, flat
from ..skipping import Skip

_TEMPERATURE = 3.0
_PROMPT = "w1 w2 w3"
_ANSWERS = ([9, 14, 22, 31, toy_tokenizer.END], [17, 8, 35, 12, toy_tokenizer.END])


def measure(parameters, device, seed):
    """With ``plant`` the gradient that is expected is that of temperature 1."""
    wanted = 1.0 if parameters.get("plant") else _TEMPERATURE
    return {
        "update_cosine": cosine(_step(_TEMPERATURE, device, seed), _expected(wanted, seed)),
        "control_cosine": cosine(_step(1.0, device, seed), _expected(1.0, seed)),
        "control_apart": 1.0 - cosine(_expected(_TEMPERATURE, seed), _expected(1.0, seed)),
    }


def _model(seed):
    """A model that is sure of some tokens; otherwise a temperature changes little."""
    import torch

    model = toy_tokenizer.model(seed)
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(100)
    return model


def _rewards(completions, **_):
    return [1.0 if number % 2 == 0 else 0.0 for number in range(len(completions))]


def _step(temperature, device, seed):
    import datasets
    import torch
    import trl

    if not hasattr(trl, "GRPOTrainer"):
        raise Skip("this release of TRL has no GRPOTrainer")
    datasets.disable_progress_bars()
    model = _model(seed)
    before = [weight.detach().clone() for weight in model.parameters()]
    known = inspect.signature(trl.GRPOConfig).parameters
    arguments = trl_trainers.settings(
        trl.GRPOConfig,
        device,
        per_device_train_batch_size=2 if "steps_per_generation" in known or _batch_holds_generations(trl) else 1,
        num_generations=2,
        max_completion_length=len(_ANSWERS[0]),
        temperature=temperature,
        beta=0.0,
        optim="sgd",
        learning_rate=0.1,
        max_grad_norm=0.0,
    )

    def generate(*given, **named):
        prompts = given[0] if given else named.get("input_ids", named.get("inputs"))
        answers = torch.tensor(_ANSWERS).to(prompts.device)
        times = len(prompts) // 2 or 1
        if len(prompts) == 1:
            prompts = prompts.repeat(2, 1)
        return torch.cat([prompts, answers.repeat(times, 1)], dim=1)

    model.generate = generate
    with trl_trainers.quiet():
        trainer = trl.GRPOTrainer(
            model=model,
            reward_funcs=_rewards,
            args=arguments,
            train_dataset=datasets.Dataset.from_dict({"prompt": [_PROMPT] * 4}),
            processing_class=toy_tokenizer.tokenizer("<pad>"),
        )
        trainer.train()
    return flat(new.detach().cpu() - old for new, old in zip(model.parameters(), before))


def _batch_holds_generations(trl):
    """Whether a batch counts answers; the first releases repeat each prompt themselves."""
    return hasattr(trl.GRPOTrainer, "_get_train_sampler") and "_get_train_sampler" in vars(trl.GRPOTrainer)


def _expected(temperature, seed):
    """The gradient ascent of the first answer's likelihood against the second's."""
    import torch

    model = _model(seed)
    prompt = toy_tokenizer.tokenizer("<pad>")(_PROMPT)["input_ids"]
    rows = torch.tensor([prompt + answer for answer in _ANSWERS])
    logits = model(rows).logits[:, len(prompt) - 1 : -1] / temperature
    chosen = torch.gather(logits.log_softmax(-1), 2, rows[:, len(prompt) :].unsqueeze(2)).squeeze(2)
    (chosen[0].mean() - chosen[1].mean()).backward()
    return flat(weight.grad for weight in model.parameters())

"""Does the loss of TRL's MiniLLMTrainer leave out the padding behind shorter completions?

Its method that computes the loss is called with two tiny models, without the part that is GRPO's own. The reference is
the divergence of the same logits, token by token, of what the mask of the completions keeps. The control is a batch
whose completions have one length.
"""

import types

from ..comparing import ratio
from ..skipping import Skip

_VOCABULARY = 32
_PROMPT = 4
_COMPLETION = 8
_SHORT = 3


def measure(parameters, device, seed):
    """With ``plant`` the reference takes all tokens where there is padding, as the defect does, and twice as many."""
    import torch

    try:
        from trl.experimental.minillm import MiniLLMTrainer
    except ImportError as error:
        raise Skip("this release of TRL has no MiniLLMTrainer") from error

    torch.manual_seed(seed)
    student, teacher = (_model(torch).to(device).eval() for _ in range(2))
    ids = torch.randint(1, _VOCABULARY, (2, _PROMPT + _COMPLETION), device=device)

    def share(short, plant=False):
        mask = torch.ones(2, _COMPLETION, dtype=torch.long, device=device)
        mask[0, short:] = 0
        given = ids.clone()
        given[:, _PROMPT:] *= mask
        inputs = {
            "prompt_ids": given[:, :_PROMPT],
            "prompt_mask": torch.ones_like(given[:, :_PROMPT]),
            "completion_ids": given[:, _PROMPT:],
            "completion_mask": mask,
        }
        whole = torch.cat([inputs["prompt_mask"], mask], 1)
        logs = [
            model(input_ids=given, attention_mask=whole).logits[:, _PROMPT - 1 : -1].double().log_softmax(-1)
            for model in (student, teacher)
        ]
        apart = (logs[0].exp() * (logs[0] - logs[1])).sum(-1)
        expected = (apart * mask).sum() / mask.sum()
        return ratio(_loss(MiniLLMTrainer, student, teacher, inputs), 2 * expected if plant else expected)

    with torch.no_grad():
        return {"loss_ratio": share(_SHORT, bool(parameters.get("plant"))), "control": share(_COMPLETION)}


def _loss(trainer, student, teacher, inputs):
    """What ``compute_loss`` adds to the loss of GRPO, which is 0 here."""
    alone = types.SimpleNamespace(
        teacher_model=teacher,
        kd_temperature=1.0,
        rkl_advantage=False,
        single_step_decomposition=True,
        _compute_loss=lambda _model, _inputs: 0.0,
    )
    alone._single_step_decomposition_loss = types.MethodType(trainer._single_step_decomposition_loss, alone)
    return float(trainer.compute_loss(alone, student, inputs))


def _model(torch):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=_VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight.mul_(20.0)  # logits of a fresh model are nearly equal
    return model

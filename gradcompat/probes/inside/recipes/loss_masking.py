"""Which labels count? Those of the answer and of its end do, those of padding, of the prompt and of position 0 do not.

A model's own shift is compared with a cross entropy in float64, computed from its logits. A collator is looked at
through the batch that it makes; the control is the same collator with a padding token of its own.
"""

import inspect

from .. import decoders, toy_tokenizer, trl_trainers
from ..skipping import Skip

_TEXTS = ("w1 w2 w3 </s>", "w4 w5 w6 w7 w8 </s>")


def measure(parameters, device, seed):
    """``what``: shift (of a model), end (pad == eos), prompt; ``through``: transformers, trl; ``model`` of shift.

    With ``plant`` the labels of shift are shifted before the model shifts them, and prompts are asked to count.
    """
    import torch

    what = parameters.get("what", "shift")
    if what == "shift":
        return _shift(torch, parameters, device, seed)
    if what == "prompt":
        return _prompt(device, seed, parameters.get("plant"))
    through = parameters.get("through", "transformers")
    batch = {"transformers": _collated, "trl": _from_trl}[through]
    counted, padding = _counted(*batch("</s>", device, seed))
    control, _ = _counted(*batch("<pad>", device, seed))
    return {"end_counts": counted, "padding_counts": padding, "control_counts": control}


def _shift(torch, parameters, device, seed):
    model = decoders.build(parameters.get("model", "llama"), "default", seed).to(device)
    with torch.no_grad():
        # Without this every token is about equally likely, and it would hardly matter which one is the label.
        model.get_output_embeddings().weight.mul_(20)
    ids = torch.randint(3, 60, (2, 12), generator=torch.Generator().manual_seed(seed + 1)).to(device)
    labels = ids.clone()
    labels[0, 3:6] = -100
    given = torch.roll(labels, -1, 1) if parameters.get("plant") else labels
    with torch.no_grad():
        found = model(input_ids=ids, labels=given)
        other = labels.clone()
        other[:, 0] = (ids[:, 0] + 5) % 50 + 3
        first = model(input_ids=ids, labels=other).loss
        ends = labels.clone()
        ends[:, -1] = -100
        last = model(input_ids=ids, labels=ends).loss
        plain = model(input_ids=ids, labels=labels).loss
    reference = torch.nn.functional.cross_entropy(
        found.logits[:, :-1].double().flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100
    )
    return {
        "loss_ratio": float(found.loss) / float(reference),
        "first_label_changes": abs(float(first) - float(plain)),
        "control_counts": int(float(last) != float(plain)),
    }


def _collated(padding, _, __):
    from transformers import DataCollatorForLanguageModeling

    tokens = toy_tokenizer.tokenizer(padding)
    collator = DataCollatorForLanguageModeling(tokenizer=tokens, mlm=False)
    batch = collator([tokens(text, return_token_type_ids=False) for text in _TEXTS])
    return batch["input_ids"], batch["labels"]


def _from_trl(padding, device, seed):
    trainer = trl_trainers.trainer(
        toy_tokenizer.model(seed), {"text": list(_TEXTS) * 2}, toy_tokenizer.tokenizer(padding), device
    )
    batch = next(iter(trainer.get_train_dataloader()))
    return batch["input_ids"].cpu(), batch["labels"].cpu()


def _prompt(device, seed, plant):
    """How much of the prompts counts, and how much of what answers them."""
    import trl

    if not hasattr(trl, "SFTConfig") or "completion_only_loss" not in inspect.signature(trl.SFTConfig).parameters:
        raise Skip("this release of TRL does not say that it leaves prompts out")
    columns = {"prompt": ["w1 w2 w3", "w4 w5"] * 2, "completion": [" w6 w7", " w8 w9 w10"] * 2}
    wanted = {"completion_only_loss": False} if plant else {}
    trainer = trl_trainers.trainer(
        toy_tokenizer.model(seed), columns, toy_tokenizer.tokenizer("<pad>"), device, **wanted
    )
    batch = next(iter(trainer.get_train_dataloader()))
    pairs = zip(batch["input_ids"].flatten().tolist(), batch["labels"].flatten().tolist())
    tokens = [(one - toy_tokenizer.FIRST, label != -100) for one, label in pairs]
    asked = [counts for word, counts in tokens if 1 <= word <= 5]
    answered = [counts for word, counts in tokens if 6 <= word <= 10]
    return {"prompt_counts": sum(asked) / len(asked), "control_counts": sum(answered) / len(answered)}


def _counted(ids, labels):
    """Of how many samples the end counts, and how much of the padding after the end does."""
    rows = [(row.tolist(), label.tolist()) for row, label in zip(ids, labels)]
    ends = padded = wrong = 0
    for row, label in rows:
        end = row.index(toy_tokenizer.END)
        ends += label[end] == toy_tokenizer.END
        padded += len(row) - end - 1
        wrong += sum(one != -100 for one in label[end + 1 :])
    return ends / len(rows), wrong / padded if padded else 0.0

"""Does SFTTrainer put an end-of-sequence token behind each sample, and count it in the loss?

The padding token is one of its own here. The control is a text that brings the token itself: it has one, and it counts.
"""

import inspect

from .. import toy_tokenizer, trl_trainers
from ..skipping import Skip

_COLUMNS = {
    "text": {"text": ["w1 w2 w3", "w4 w5 w6 w7 w8"]},
    "prompt": {"prompt": ["w1 w2", "w4 w5 w6"], "completion": [" w3", " w7 w8"]},
}
_ENDED = {"text": ["w1 w2 w3 </s>", "w4 w5 w6 w7 w8 </s>"]}


def measure(parameters, device, seed):
    """``kind``: text, prompt (with completion); with ``plant`` the samples bring the token themselves."""
    kind = parameters.get("kind", "text")
    columns = _COLUMNS[kind]
    if parameters.get("plant"):
        columns = {name: [text + " </s>" for text in texts] for name, texts in columns.items() if name != "prompt"}
        columns = {**_COLUMNS[kind], **columns}
    found = _counted(columns, device, seed)
    control = _counted(_ENDED, device, seed)
    return {"end_counts": found[0], "ends": found[1], "control_ends": control[0]}


def _counted(columns, device, seed):
    """In how many samples the last token is the end and counts, and how many such tokens a sample has."""
    import trl

    if "completion" in columns and "completion_only_loss" not in inspect.signature(trl.SFTConfig).parameters:
        raise Skip("this release of TRL does not take prompts with completions")
    columns = {name: texts * 2 for name, texts in columns.items()}
    trainer = trl_trainers.trainer(toy_tokenizer.model(seed), columns, toy_tokenizer.tokenizer("<pad>"), device)
    batch = next(iter(trainer.get_train_dataloader()))
    last = ends = 0
    for row, labels in zip(batch["input_ids"].tolist(), batch["labels"].tolist()):
        tokens = [(token, label) for token, label in zip(row, labels) if token != toy_tokenizer.PADDING]
        last += tokens[-1] == (toy_tokenizer.END, toy_tokenizer.END)
        ends += sum(token == toy_tokenizer.END for token, _ in tokens)
    rows = len(batch["input_ids"])
    return last / rows, ends / rows

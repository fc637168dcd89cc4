"""Is the evaluation loss of the Trainer the same for every batch size?

Samples with different numbers of labels are evaluated in one batch and one by one. The control is the same with as many
labels in each sample, where a mean of means is the mean.
"""

from .. import models, trainers
from ..comparing import ratio


def measure(parameters, device, seed):
    """With ``plant`` the batches are of different sizes, which only samples of unequal numbers of labels tell apart."""
    unequal = (12, 3, 2, 1)
    small = 2 if parameters.get("plant") else 1
    return {
        "loss_ratio": ratio(_loss(unequal, small, device, seed), _loss(unequal, 4, device, seed)),
        "control_loss_ratio": ratio(_loss((5, 5, 5, 5), 1, device, seed), _loss((5, 5, 5, 5), 4, device, seed)),
    }


def _loss(counts, batch, device, seed):
    import torch
    from transformers import Trainer

    model = models.build("llama", seed)
    made = torch.Generator().manual_seed(seed)
    data = []
    for place, count in enumerate(counts):
        ids = torch.randint(3, models.VOCABULARY, (14,), generator=made)
        # The rarer its labels, the harder a sample is: all of them are the same token.
        labels = torch.full((14,), -100)
        labels[1 : count + 1] = ids[1 : count + 1] if place else ids[0]
        data.append({"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels})
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(30)
    arguments = trainers.arguments(per_device_eval_batch_size=batch, **trainers.on(device))
    trainer = Trainer(model=model, args=arguments, data_collator=trainers.collate)
    return trainer.evaluate(eval_dataset=data)["eval_loss"]

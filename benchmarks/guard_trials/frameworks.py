"""Programs of trials that need more than torch and transformers: DeepSpeed, TRL, sentence-transformers, Keras, ….

Loaded by ``inside.py`` in the interpreter under trial. Each program takes a cell, the number of steps, the options of
the guard (None without it) and a list that gets a function which gives the guard; it returns the trained model.
"""

from __future__ import annotations

import contextlib
import os


def deepspeed(cell, steps, options, holder):
    """DeepSpeed's engine around a small classifier, alone or as torchrun starts it."""
    import torch
    from torch.nn import functional

    from gradcompat.probes.inside import engines, ranks

    accumulation = cell.get("accumulation", 1)
    with contextlib.nullcontext() if "RANK" in os.environ else ranks.group(0, 1, "cpu"):
        torch.manual_seed(0)
        inside = cell.get("loss") == "inside"
        model = _with_loss() if inside else _network()
        engine, weights = engines.deepspeed_engine(model, cell, "cpu")
        generator = torch.Generator().manual_seed(torch.distributed.get_rank())
        for _ in range(steps * accumulation):
            x, y = torch.randn(2, 8, generator=generator), torch.randint(0, 5, (2,), generator=generator)
            engine.backward(engine(x, y)[0] if inside else functional.cross_entropy(engine(x), y))
            engine.step()
        return _named(weights())


def deepspeed_trainer(cell, steps, options, holder):
    """The Trainer of transformers through DeepSpeed at stage 0, with SGD."""
    import torch
    import transformers

    from gradcompat.probes.inside import engines, models, ranks, trainers

    transformers.logging.set_verbosity_error()
    accumulation = cell.get("accumulation", 4)
    os.environ["ACCELERATE_USE_DEEPSPEED"] = "true"
    with contextlib.nullcontext() if "RANK" in os.environ else ranks.group(0, 1, "cpu"):
        engines.deepspeed_package("cpu")
        settings = engines.deepspeed_settings({"stage": cell.get("stage", 0), "accumulation": accumulation})
        settings["train_micro_batch_size_per_gpu"] = 1
        model = models.build(cell["model"], 0)
        data = models.samples(cell["model"], cell.get("labels", "equal"), accumulation * steps, 0)
        torch.manual_seed(0)
        trainers.train(
            model,
            data,
            None,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=accumulation,
            max_steps=steps,
            learning_rate=0.1,
            optim="sgd",
            max_grad_norm=0.0,
            deepspeed=settings,
            ddp_backend="gloo",
            **trainers.on("cpu"),
        )
        return model


def trl(cell, steps, options, holder):
    """One of TRL's trainers over a few words: sft, dpo, orpo, kto, cpo, grpo."""
    import datasets
    import torch
    import trl as package

    from gradcompat.guard.trainer_callback import GuardCallback
    from gradcompat.probes.inside import toy_tokenizer, trl_trainers

    _forget_accelerate()
    method, accumulation = cell["method"], cell.get("accumulation", 4)
    datasets.disable_progress_bars()
    trainer_class = getattr(package, f"{method.upper()}Trainer")
    tokens = toy_tokenizer.tokenizer("<pad>")
    model = toy_tokenizer.model(0)
    per_step = 2 if method == "grpo" else accumulation * 2
    columns = _preferences(method, max(steps * per_step, 8))
    if method == "grpo":
        tokens.padding_side = "left"
        tokens.model_input_names = ["input_ids", "attention_mask"]
    arguments = trl_trainers.settings(
        getattr(package, f"{method.upper()}Config"),
        "cpu",
        per_device_train_batch_size=2,
        gradient_accumulation_steps=accumulation,
        learning_rate=1e-2,
        max_steps=steps,
        max_length=32,
        max_prompt_length=16,
        max_completion_length=4,
        num_generations=2,
        packing=bool(cell.get("packing")),
        # A head that comes from a model in memory is no folder to load a reference from.
        **({"beta": 0.0} if method == "grpo" else {}),
    )
    callbacks = [GuardCallback(**options)] if options is not None else []
    holder += [lambda: callbacks[0].guard]
    given = {"reward_funcs": _rewards} if method == "grpo" else {}
    if method in ("dpo", "kto"):
        given["ref_model"] = toy_tokenizer.model(0)
    with trl_trainers.quiet():
        trainer = trainer_class(
            model=model,
            args=arguments,
            train_dataset=datasets.Dataset.from_dict(columns),
            callbacks=callbacks,
            **{trl_trainers.named(trainer_class): tokens},
            **given,
        )
        torch.manual_seed(0)
        trainer.train()
    return model


def sentences(cell, steps, options, holder):
    """A SentenceTransformerTrainer with one of its losses, over a tiny BERT."""
    import datasets
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, losses, models
    from sentence_transformers.training_args import SentenceTransformerTrainingArguments

    from gradcompat.guard.trainer_callback import GuardCallback
    from gradcompat.probes.inside import toy_tokenizer

    _forget_accelerate()
    datasets.disable_progress_bars()
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=toy_tokenizer.SIZE,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        pad_token_id=toy_tokenizer.PADDING,
    )
    transformers.BertModel(config).save_pretrained("tiny-bert")
    toy_tokenizer.tokenizer("<pad>").save_pretrained("tiny-bert")
    encoder = models.Transformer("tiny-bert")
    model = SentenceTransformer(modules=[encoder, models.Pooling(16)], device="cpu")
    accumulation = cell.get("accumulation", 4)
    count = steps * accumulation * 4
    columns = {
        "anchor": [f"w{number % 31} w{number % 17}" for number in range(count)],
        "positive": [f"w{number % 31} w{number % 13} w3" for number in range(count)],
    }
    if cell["loss"] == "CoSENTLoss":
        columns["score"] = [number % 5 / 5 for number in range(count)]
    arguments = SentenceTransformerTrainingArguments(
        output_dir="sentences",
        per_device_train_batch_size=4,
        gradient_accumulation_steps=accumulation,
        max_steps=steps,
        learning_rate=1e-3,
        report_to=[],
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
        use_cpu=True,
    )
    callbacks = [GuardCallback(**options)] if options is not None else []
    holder += [lambda: callbacks[0].guard]
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=datasets.Dataset.from_dict(columns),
        loss=getattr(losses, cell["loss"])(model),
        callbacks=callbacks,
    )
    torch.manual_seed(0)
    trainer.train()
    return model


def diffusion(cell, steps, options, holder):
    """The loop of diffusers' own examples: noise is added, and a UNet predicts it."""
    import torch
    from diffusers import DDPMScheduler, UNet2DModel
    from torch.nn import functional

    from gradcompat.guard import Guard

    torch.manual_seed(0)
    model = UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    ).train()
    schedule = DDPMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    accumulation, weighted = cell.get("accumulation", 2), cell.get("what") == "min-SNR weights"
    guard = None if options is None else Guard(model, accumulation=accumulation, **options)
    holder += [lambda: guard]
    generator = torch.Generator().manual_seed(1)
    with contextlib.nullcontext() if guard is None else guard:
        for _ in range(steps):
            for _ in range(accumulation):
                images = torch.randn(4, 1, 8, 8, generator=generator)
                noise = torch.randn(images.shape, generator=generator)
                at = torch.randint(0, 100, (4,), generator=generator)
                predicted = model(schedule.add_noise(images, noise, at), at).sample
                if weighted:
                    level = schedule.alphas_cumprod[at]
                    ratio = level / (1 - level)
                    loss = functional.mse_loss(predicted, noise, reduction="none").mean((1, 2, 3))
                    loss = (loss * ratio.clamp(max=5.0) / ratio).mean()
                else:
                    loss = functional.mse_loss(predicted, noise)
                (loss if cell.get("what") == "undivided" else loss / accumulation).backward()
            optimizer.step()
            optimizer.zero_grad()
    return model


def keras(cell, steps, options, holder):
    """``fit`` of Keras over torch, whose optimizers are no torch optimizers."""
    os.environ["KERAS_BACKEND"] = "torch"
    import keras as package
    import numpy
    import torch

    package.utils.set_random_seed(0)
    model = package.Sequential([package.layers.Dense(16, activation="relu"), package.layers.Dense(5)])
    loss = package.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=package.optimizers.AdamW(0.01), loss=loss)
    generator = numpy.random.default_rng(0)
    count = steps * 8
    x = generator.normal(size=(count, 8)).astype("float32")
    model.fit(x, generator.integers(0, 5, size=count), batch_size=8, epochs=1, shuffle=False, verbose=0)
    return _named({str(index): torch.as_tensor(one) for index, one in enumerate(model.get_weights())})


def _network():
    import torch

    return torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5))


def _with_loss():
    """A network that returns its loss and what the loss is computed from."""
    import torch
    from torch.nn import functional

    class WithLoss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = _network()

        def forward(self, x, y):
            outputs = self.network(x)
            return functional.cross_entropy(outputs, y), outputs

    return WithLoss()


def _named(weights):
    """Weights as a module, whose digest can be taken."""
    import torch

    holding = torch.nn.Module()
    for index, (_, one) in enumerate(sorted(weights.items())):
        holding.register_buffer(f"w{index}", one.detach().clone())
    return holding


def _preferences(method, count):
    prompts = [f"w{number % 30} w{number % 30 + 1}" for number in range(count)]
    chosen = [f"w{number % 7 + 5} w{number % 11 + 6} w9" for number in range(count)]
    if method == "sft":
        return {"text": [f"{one} {other}" for one, other in zip(prompts, chosen, strict=True)]}
    if method == "grpo":
        return {"prompt": prompts}
    if method == "kto":
        return {"prompt": prompts, "completion": chosen, "label": [number % 2 == 0 for number in range(count)]}
    return {
        "prompt": prompts,
        "chosen": chosen,
        "rejected": [f"w{number % 5 + 15} w{number % 3 + 3} w8" for number in range(count)],
    }


def _rewards(completions, **_):
    """They have to differ, or nothing is to be learned."""
    return [float(sum(map(ord, completion))) for completion in completions]


def _forget_accelerate():
    import accelerate

    for name in ("AcceleratorState", "PartialState", "GradientState"):
        getattr(accelerate.state, name)._reset_state()

"""Runs in the interpreter under trial: trains tiny models with the guard and without, and prints a line of JSON a cell.

    python inside.py PACKAGE INPUT

PACKAGE is the folder of gradcompat, of which nothing but the guard and the tiny models of the probes is loaded; INPUT a
list of cells.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import traceback
import warnings

_HEALTHY_STEPS = 10
_AFFECTED_STEPS = 3


def _load(package):
    """The package without what is installed beside it; under `gradcompat run` it is there."""
    if "gradcompat" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location("gradcompat", os.path.join(package, "__init__.py"))
    sys.modules["gradcompat"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def main():
    _load(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        cells = json.load(file)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.chdir(tempfile.mkdtemp(dir="."))
    warnings.simplefilter("ignore")
    for cell in cells:
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            try:
                found = _trial(cell)
            except Exception as error:  # a cell that cannot run is not measured
                found = {"error": f"{type(error).__name__}: {error}"[:300], "trace": traceback.format_exc()[-1500:]}
        if os.environ.get("RANK", "0") == "0":
            out.write(json.dumps({"name": cell["name"], **found, "said": said.getvalue()[-1500:]}) + "\n")
            out.flush()
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_initialized():
        # Gloo's threads abort an interpreter that ends while they have work, and DDP is in a cycle that keeps its last.
        gc.collect()
        distributed.destroy_process_group()


def _trial(cell):
    import torch

    from gradcompat.guard.findings import GuardStop

    torch.set_num_threads(1)
    train = PROGRAMS[cell["program"]]
    steps = _HEALTHY_STEPS if cell["healthy"] else _AFFECTED_STEPS
    if cell.get("alone"):  # the guard, if any, comes from outside
        return {"digest": _digest(train(cell, steps, None, []))}
    stopped, guarded = False, None
    options = {"report": "" if cell["healthy"] else "report.json", "on_defect": "stop", "python": cell["python"]}
    holder = []
    try:
        guarded = _digest(train(cell, steps, options, holder))
    except GuardStop:
        stopped = True
    except RuntimeError as error:
        if "does not require grad" not in str(error) or cell["healthy"]:
            raise
    guard = holder[0]() if holder else None
    found = {"stopped": stopped, "findings": [], "verified": [], "unverified": {}, "weights": None, "same": None}
    if guard is not None:
        judgement = guard.judgement
        found["findings"] = [[one.detector, one.level, one.text] for one in judgement.findings]
        found["verified"], found["unverified"] = judgement.clean, judgement.unverified
        found["weights"] = [round(step.first, 4) for step in guard.measured_steps]
        found["failed"] = guard._failed
    if os.path.isfile("report.json"):
        with open("report.json", encoding="utf-8") as file:
            report = json.load(file)
        os.remove("report.json")
        found["records"] = [record for one in report["findings"] for record in one["records"]]
    if cell["healthy"] and not stopped:
        found["same"] = guarded == _digest(train(cell, steps, None, []))
    return found


def _digest(model):
    import torch

    digest = hashlib.sha256()
    for name, one in sorted(model.state_dict().items()):
        if torch.is_tensor(one):
            digest.update(name.encode())
            digest.update(one.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


# Trainer of transformers.


def _trainer(cell, steps, options, holder):
    import torch

    from gradcompat.guard.trainer_callback import GuardCallback
    from gradcompat.probes.inside import models, trainers

    for module in ("accelerate.state",):
        if module in sys.modules:  # each cell as a process of its own
            for name in ("AcceleratorState", "PartialState", "GradientState"):
                getattr(sys.modules[module], name)._reset_state()
    import transformers

    transformers.logging.set_verbosity_error()
    kind, accumulation = cell["model"], cell.get("accumulation", 4)
    model = models.build(kind, 0) if kind != "mixtral" else _mixture()
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    samples = "llama" if kind == "mixtral" else kind
    count = accumulation * steps * cell.get("batch", 1) * ranks
    if cell.get("tail"):  # the second step, and every second one after it, has half of its micro-batches
        count = accumulation + accumulation // 2
    data = models.samples(samples, cell.get("labels", "equal"), count, 0)
    _prepare(model, data, cell)
    callbacks = [GuardCallback(**options)] if options is not None else []
    holder += [lambda: callbacks[0].guard]
    wanted = {
        "per_device_train_batch_size": cell.get("batch", 1),
        "gradient_accumulation_steps": accumulation,
        "max_steps": steps,
        "learning_rate": 1e-2,
        **cell.get("arguments", {}),
        **trainers.on("cpu"),
    }
    trainer = transformers.Trainer(
        model=model,
        args=trainers.arguments(**wanted),
        train_dataset=data,
        data_collator=trainers.collate,
        callbacks=callbacks,
    )
    torch.manual_seed(0)
    trainer.train()
    return model


def _mixture():
    """A mixture of experts whose router has a loss of its own."""
    import torch
    from transformers import MixtralConfig, MixtralForCausalLM

    torch.manual_seed(0)
    return MixtralForCausalLM(
        MixtralConfig(
            vocab_size=64,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            num_local_experts=4,
            output_router_logits=True,
            router_aux_loss_coef=0.1,
        )
    )


def _prepare(model, data, cell):
    import torch

    prepare = cell.get("prepare")
    if prepare == "frozen_embeddings":
        model.get_input_embeddings().weight.requires_grad_(False)
    elif prepare == "nan":
        with torch.no_grad():
            model.lm_head.weight[0, 0] = float("nan")
    elif prepare == "unlabelled":
        for sample in data:
            sample["labels"] = torch.full_like(sample["labels"], -100)
    elif prepare == "shifted twice":
        for sample in data:
            sample["labels"] = torch.cat([sample["input_ids"][1:], torch.tensor([-100])])
    elif prepare in ("end", "no end"):
        model.config.eos_token_id = 2
        for sample in data:
            sample["input_ids"][-1] = 2
            sample["labels"] = sample["input_ids"].clone()
            if prepare == "no end":
                sample["labels"][-1] = -100
    elif prepare == "padding":
        for sample in data:
            sample["attention_mask"][-4:] = 0
            sample["labels"] = sample["input_ids"].clone()
    elif prepare == "right padding":
        for sample in data:
            sample["attention_mask"][-4:] = 0
            sample["labels"] = sample["input_ids"].masked_fill(sample["attention_mask"] == 0, -100)


# Loops of one's own.


def _loop(cell, steps, options, holder):
    """A plain loop over a small classifier; ``what`` says what is done in it."""
    import torch

    what, accumulation = cell.get("what", ""), cell.get("accumulation", 4)
    torch.manual_seed(0)
    model = _classifier(what)
    optimizers = _optimizers(what, model)
    scaler = torch.amp.GradScaler("cpu") if "scaler" in what else None
    _, active = _guarded(model if not cell.get("automatic") else None, cell, options, holder)
    generator = torch.Generator().manual_seed(1)
    with active:
        for number in range(steps):
            for micro in range(accumulation):
                loss = _loss(what, model, generator)
                loss = loss if what == "undivided" else loss / accumulation
                (scaler.scale(loss) if scaler is not None else loss).backward()
                if what == "erased" and micro == 1:
                    optimizers[0].zero_grad()
                if what == "step each":
                    optimizers[0].step()
                    optimizers[0].zero_grad()
            if what == "step each":
                continue
            if what == "clipped":
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            if what == "not unscaled":
                optimizers[0].step()
            for optimizer in optimizers:
                if scaler is not None and what != "scaler not unscaled":
                    scaler.step(optimizer)
                    scaler.update()
                else:
                    optimizer.step()
            if what != "never zeroed":
                for optimizer in optimizers:
                    optimizer.zero_grad()
            if number == 0 and what == "replaced":
                model[0] = torch.nn.Linear(8, 32)
    return model


def _guarded(model, cell, options, holder):
    from gradcompat.guard import Guard

    if options is None:
        return None, contextlib.nullcontext()
    guard = Guard(
        model,
        accumulation=cell.get("accumulation", 4) if cell.get("declared", True) else None,
        max_grad_norm=cell.get("max_grad_norm"),
        **options,
    )
    holder += [lambda: guard]
    return guard, guard


def _classifier(what):
    import torch

    if what == "token embedding":
        return torch.nn.Sequential(torch.nn.Embedding(50, 16), torch.nn.Flatten(), torch.nn.Linear(64, 5))
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 32),
        torch.nn.BatchNorm1d(32) if what == "batch norm" else torch.nn.Identity(),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.1),
        torch.nn.Linear(32, 5),
    )
    if what == "evaluation":
        model[3].eval()
    if what == "half":
        model.half()
    if what == "bfloat16":
        model.bfloat16()
    return model


def _optimizers(what, model):
    import torch

    parameters = list(model.parameters())
    if what == "two optimizers":
        return [torch.optim.SGD(parameters[:2], lr=0.01), torch.optim.AdamW(parameters[2:], lr=0.01)]
    if what == "stale":
        other = _classifier("")
        return [torch.optim.AdamW(other.parameters(), lr=0.01)]
    if what == "some left out":
        return [torch.optim.AdamW(parameters[2:], lr=0.01)]
    if what == "no rate":
        return [torch.optim.SGD(parameters, lr=0.0)]
    if what == "tiny rate":
        return [torch.optim.SGD(parameters, lr=1e-12)]
    if what == "bfloat16":
        return [torch.optim.SGD(parameters, lr=1e-6)]
    return [torch.optim.AdamW(parameters, lr=0.01)]


def _loss(what, model, generator):
    import torch
    from torch.nn import functional

    count = 16
    if what == "unequal":
        count = int(torch.randint(2, 40, (), generator=generator))
    x, y = torch.randn(count, 8, generator=generator), torch.randint(0, 5, (count,), generator=generator)
    if what == "token embedding":
        x = torch.randint(0, 50, (count, 4), generator=generator)
    if what == "half":
        x = x.half()
    if what == "bfloat16":
        x = x.bfloat16()
    if what == "checkpointed":
        from torch.utils.checkpoint import checkpoint

        return functional.cross_entropy(checkpoint(model, x, use_reentrant=False), y)
    if what == "reentrant":
        from torch.utils.checkpoint import checkpoint

        hidden = checkpoint(model[:2], x.requires_grad_(), use_reentrant=True)
        return functional.cross_entropy(model[2:](hidden), y)
    if what == "autocast":
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return functional.cross_entropy(model(x), y)
    if what == "nan":
        return functional.cross_entropy(model(x) * float("nan"), y)
    if what == "infinite gradient":
        return functional.cross_entropy(model(x), y) + (model[0].weight * 0).sum().clamp(min=0).sqrt()
    logits = model(x)
    if what == "smoothing":
        return functional.cross_entropy(logits, y, label_smoothing=0.1)
    if what == "class weights":
        return functional.cross_entropy(logits, y, weight=torch.tensor([1.0, 2.0, 1.0, 0.5, 1.0]))
    if what == "summed":
        return functional.cross_entropy(logits, y, reduction="sum") / count
    if what == "elementwise":
        return functional.cross_entropy(logits, y, reduction="none").mean()
    if what == "two halves":
        return 0.5 * functional.cross_entropy(logits, y) + 0.5 * functional.cross_entropy(logits * 1.1, y)
    if what == "two losses":
        return functional.cross_entropy(logits, y) + 0.3 * functional.mse_loss(logits, torch.zeros_like(logits))
    if what == "regression":
        return functional.mse_loss(logits, torch.ones_like(logits))
    if what == "binary":
        return functional.binary_cross_entropy_with_logits(logits, (logits > 0).float().detach())
    if what == "preferences":
        return -functional.logsigmoid(logits[:, 0] - logits[:, 1]).mean()
    if what == "module loss":
        return torch.nn.CrossEntropyLoss()(logits, y)
    if what == "by hand":
        return -logits.log_softmax(-1).gather(1, y[:, None]).mean()
    if what == "inplace":
        loss = functional.cross_entropy(logits, y)
        loss *= 1.0
        return loss
    return functional.cross_entropy(logits, y)


def _adversarial(cell, steps, options, holder):
    """A GAN: two models, two optimizers, three losses."""
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    generator, critic = torch.nn.Linear(4, 8), torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 1))
    ours = torch.optim.Adam(generator.parameters(), lr=0.01)
    theirs = torch.optim.Adam(critic.parameters(), lr=0.01)
    _, active = _guarded(None, {"declared": False}, options, holder)
    with active:
        for _ in range(steps):
            theirs.zero_grad()
            real, fake = critic(torch.randn(8, 8)), critic(generator(torch.randn(8, 4)).detach())
            functional.binary_cross_entropy_with_logits(real, torch.ones_like(real)).backward()
            functional.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake)).backward()
            theirs.step()
            ours.zero_grad()
            fooled = critic(generator(torch.randn(8, 4)))
            functional.binary_cross_entropy_with_logits(fooled, torch.ones_like(fooled)).backward()
            ours.step()
    return torch.nn.ModuleList([generator, critic])


def _closure(cell, steps, options, holder):
    """LBFGS, which calls backward as often as it wants."""
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    model = torch.nn.Linear(8, 5)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
    x, y = torch.randn(16, 8), torch.randint(0, 5, (16,))
    _, active = _guarded(model, {"accumulation": 1}, options, holder)

    def closure():
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        return loss

    with active:
        for _ in range(steps):
            optimizer.step(closure)
    return model


def _language(cell, steps, options, holder):
    """A plain loop over a tiny decoder with packed samples."""
    import torch

    from gradcompat.probes.inside import decoders

    model = decoders.build(cell["model"], cell.get("attention", "sdpa"), 0).train()
    generator = torch.Generator().manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    _, active = _guarded(model, {"accumulation": 1}, options, holder)
    positions = torch.cat([torch.arange(8), torch.arange(8)])[None].repeat(2, 1)
    extra = {}
    if cell.get("mask") == "ones":
        extra["attention_mask"] = torch.ones(2, 16, dtype=torch.long)
    elif cell.get("mask") == "blocks":
        segment = torch.tensor([0] * 8 + [1] * 8)
        seen = (segment[:, None] == segment[None]) & torch.ones(16, 16, dtype=torch.bool).tril()
        extra["attention_mask"] = torch.zeros(1, 1, 16, 16).masked_fill(~seen, torch.finfo(torch.float32).min)
    elif cell.get("mask") == "single":
        positions = torch.arange(16)[None].repeat(2, 1)
    with active:
        for _ in range(steps):
            ids = torch.randint(3, 60, (2, 16), generator=generator)
            model(input_ids=ids, labels=ids, position_ids=positions, **extra).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return model


def _accelerated(cell, steps, options, holder):
    """The loop of accelerate's own documentation."""
    import accelerate
    import torch
    from accelerate.utils import GradientAccumulationPlugin
    from torch.nn import functional

    for name in ("AcceleratorState", "PartialState", "GradientState"):
        getattr(accelerate.state, name)._reset_state()
    accumulation = cell.get("accumulation", 4)
    plugin = GradientAccumulationPlugin(num_steps=accumulation, sync_each_batch=bool(cell.get("sync_each_batch")))
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_plugin=plugin)
    torch.manual_seed(0)
    model = _classifier("")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    data = [(torch.randn(8), index % 5) for index in range(steps * accumulation * 4)]
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    _, active = _guarded(None if cell.get("automatic") else model, {"declared": False}, options, holder)
    with active:
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward(functional.cross_entropy(model(x), y))
                if cell.get("clip") and accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 0.01)
                optimizer.step()
                optimizer.zero_grad()
    return accelerator.unwrap_model(model)


def _lightning(cell, steps, options, holder):
    import torch
    from torch.nn import functional

    from gradcompat.guard.lightning_callback import LightningGuard
    from gradcompat.probes.inside import lightnings

    lightning = lightnings.package()

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.model = _classifier("")

        def training_step(self, batch, batch_idx):
            return self.loss(batch)

        def loss(self, batch):
            x, y = batch
            return functional.cross_entropy(self.model(x), y)

        def validation_step(self, batch, batch_idx):
            return None

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=0.01)

    class WithoutIndex(Module):
        def training_step(self, batch):
            return self.loss(batch)

    accumulation = cell.get("accumulation", 4)
    torch.manual_seed(0)
    data = [(torch.randn(8), index % 5) for index in range(steps * accumulation * 4)]
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    validated = cell.get("what") == "validation"
    module = WithoutIndex() if cell.get("what") == "batch_index" else Module()
    callbacks = [LightningGuard(**options)] if options is not None else []
    holder += [lambda: callbacks[0].guard]
    with lightnings.quiet(lightning):
        trainer = lightnings.trainer(
            lightning,
            "cpu",
            max_epochs=1,
            accumulate_grad_batches=accumulation,
            gradient_clip_val=cell.get("clip"),
            callbacks=callbacks,
            **({"val_check_interval": 2} if validated else {"limit_val_batches": 0}),
        )
        trainer.fit(module, loader, loader if validated else None)
    return module


def _ranks(cell, steps, options, holder):
    """Two processes under DDP or FSDP2, as torchrun starts them."""
    import torch
    from torch import distributed
    from torch.nn import functional

    if not distributed.is_initialized():
        distributed.init_process_group("gloo")
    rank, accumulation, what = distributed.get_rank(), cell.get("accumulation", 2), cell.get("what", "")
    torch.manual_seed(0)
    bare = _classifier("")
    sharded = cell.get("engine") in ("fsdp1", "fsdp2")
    if cell.get("engine") == "fsdp2":
        from torch.distributed.fsdp import fully_shard

        model = fully_shard(bare)
    elif sharded:
        from torch.distributed.fsdp import FullyShardedDataParallel

        model = FullyShardedDataParallel(bare, device_id=torch.device("cpu"), use_orig_params=True)
    else:
        model = torch.nn.parallel.DistributedDataParallel(bare)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(0 if what == "same data" else rank)
    torch.manual_seed(rank)
    for _ in range(steps):
        for micro in range(accumulation):
            x, y = torch.randn(8, 8, generator=generator), torch.randint(0, 5, (8,), generator=generator)
            last = micro == accumulation - 1
            waiting = contextlib.nullcontext() if last or sharded else model.no_sync()
            with waiting:
                loss = functional.cross_entropy(model(x), y) / accumulation
                if what == "nan on one rank" and rank == 1:
                    loss = loss * float("nan")
                loss.backward()
        if what == "apart" and rank == 1:
            with torch.no_grad():
                bare[0].weight.add_(0.1)
        if what == "not averaged" and rank == 1:
            for one in bare.parameters():
                one.grad.mul_(3.0)
        optimizer.step()
        optimizer.zero_grad()
    if cell.get("engine") == "fsdp1":
        with type(model).summon_full_params(model):
            return torch.nn.ParameterList([one.detach().clone() for one in model.parameters()])
    if sharded:
        return torch.nn.ParameterList([one.full_tensor() for one in model.parameters()])
    return bare


def _framework(name):
    """A program of ``frameworks.py``, which imports what the program needs."""

    def program(cell, steps, options, holder):
        import frameworks

        return getattr(frameworks, name)(cell, steps, options, holder)

    return program


PROGRAMS = {
    **{name: _framework(name) for name in ("deepspeed", "deepspeed_trainer", "trl", "sentences", "diffusion", "keras")},
    "ranks": _ranks,
    "trainer": _trainer,
    "loop": _loop,
    "adversarial": _adversarial,
    "closure": _closure,
    "language": _language,
    "accelerate": _accelerated,
    "lightning": _lightning,
}

if __name__ == "__main__":
    main()

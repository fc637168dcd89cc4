"""What records ask of the arguments of calls, against calls as programs write them."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.knowledge.load import load
from gradcompat.model.issue import SymbolAbsentTerm, SymbolTerm
from gradcompat.scanners.code.python_code import scan
from gradcompat.terms.symbol_patterns import is_call, truth_of_use
from gradcompat.truth import Truth

YES, UNKNOWN, NO = Truth.YES, Truth.UNKNOWN, Truth.NO

PACKAGES = (
    "datasets, deepspeed.moe.layer, diffusers, peft, sentence_transformers, timm, ultralytics, "
    "flash_attn, keras, lightning, liger_kernel, mamba_ssm, monai, optax, pytorch_optimizer, schedulefree, torch, "
    "torchdata.stateful_dataloader, tensorflow, torchmetrics, transformer_engine.pytorch, trl, unsloth"
)
FLASH = "model_kwargs={'attn_implementation': 'flash_attention_2'}"
CASES = [
    ("GC-0049", "lightning.Trainer(val_check_interval=8, accumulate_grad_batches=4)", YES),
    ("GC-0049", "lightning.Trainer(val_check_interval=6, accumulate_grad_batches=4)", NO),
    ("GC-0049", "lightning.Trainer(val_check_interval=0.5, accumulate_grad_batches=4)", NO),
    ("GC-0057", "tensorflow.distribute.MirroredStrategy(['/gpu:0'])", YES),
    ("GC-0057", "tensorflow.distribute.MirroredStrategy(['/gpu:0', '/gpu:1'])", NO),
    ("GC-0057", "tensorflow.distribute.MirroredStrategy()", NO),
    ("GC-0081", "torch.utils.data.DataLoader(x, generator=g)", YES),
    ("GC-0081", "torch.utils.data.DataLoader(x)", NO),
    ("GC-0087", "model.load_adapter(path)", YES),
    ("GC-0087", "model.load_adapter(path, is_trainable=True)", NO),
    ("GC-0087", "model.load_adapter(path, is_trainable=args.train)", NO),
    ("GC-0054", "unsloth.FastLanguageModel.from_pretrained('m')", YES),
    ("GC-0054", "unsloth.FastLanguageModel.from_pretrained('m', full_finetuning=True)", NO),
    ("GC-0054", "unsloth.FastLanguageModel.from_pretrained('m', full_finetuning=whole)", NO),
    ("GC-0060", "torch.load(x)", YES),
    ("GC-0060", "torch.load(x, weights_only=False)", NO),
    ("GC-0060", "torch.load(x, **{'weights_only': True})", NO),
    ("GC-0060", "torch.load(x, weights_only=w), torch.load(y)", YES),
    ("GC-0060", "functools.partial(torch.load, weights_only=True)", NO),
    ("GC-0060", "functools.partial(torch.load, map_location='cpu')", UNKNOWN),
    ("GC-0060", "torch.load(x, **options())", UNKNOWN),
    ("GC-0106", "lightning.seed_everything(1, True)", YES),
    ("GC-0106", "lightning.seed_everything(1)", NO),
    ("GC-0141", "torch.set_default_dtype(torch.bfloat16)", YES),
    ("GC-0154", "transformer_engine.pytorch.parallel_cross_entropy(x, y)", NO),
    ("GC-0154", "transformer_engine.pytorch.parallel_cross_entropy(x, y, 0.0, True)", YES),
    ("GC-0159", "mamba_ssm.Mamba2(64, ngroups=8)", YES),
    # A layer of one's own mostly hands on a 1.
    ("GC-0159", "mamba_ssm.Mamba2(64, ngroups=args.groups)", NO),
    ("GC-0159", "mamba_ssm.Mamba2(64, ngroups=1)", NO),
    ("GC-0160", "flash_attn.flash_attn_varlen_func(q, k, v, a, b, c, d, causal=True)", YES),
    ("GC-0160", "flash_attn.flash_attn_varlen_func(q, k, v, a, a, c, c, causal=True)", NO),
    ("GC-0172", "optax.sigmoid_focal_loss(x, y, gamma=0.5)", YES),
    ("GC-0172", "optax.sigmoid_focal_loss(x, y, None, 2.0)", NO),
    ("GC-0179", "liger_kernel.chunked_loss.LigerFusedLinearJSDLoss()", YES),
    ("GC-0179", "liger_kernel.chunked_loss.LigerFusedLinearJSDLoss(beta=0.0)", NO),
    ("GC-0255", "load(1).push_to_hub('me/x', num_shards=2, num_proc=8)", YES),
    ("GC-0255", "load(1).push_to_hub('me/x', num_shards=8, num_proc=8)", NO),
    ("GC-0307", "pytorch_optimizer.SignSGD(w)", YES),
    ("GC-0307", "pytorch_optimizer.SignSGD(w, momentum=0.0)", NO),
    ("GC-0321", "keras.optimizers.SGD(0.1, clipnorm=1.0)", YES),
    ("GC-0321", "keras.optimizers.SGD(0.1)", NO),
    ("GC-0374", "monai.networks.nets.ViT(1, 96, 16, pos_embed_type='sincos')", YES),
    ("GC-0374", "monai.networks.nets.ViT(1, 96, 16)", NO),
    ("GC-0377", "torchdata.stateful_dataloader.StatefulDataLoader(x, 4, True)", YES),
    ("GC-0377", "torchdata.stateful_dataloader.StatefulDataLoader(x, shuffle=True, generator=g)", NO),
    ("GC-0379", "lightning.pytorch.callbacks.ModelCheckpoint(monitor='val_loss', every_n_train_steps=100)", YES),
    ("GC-0379", "lightning.pytorch.callbacks.ModelCheckpoint(filename='{val_acc}', every_n_train_steps=100)", YES),
    ("GC-0379", "lightning.pytorch.callbacks.ModelCheckpoint(monitor='train_loss', every_n_train_steps=100)", NO),
    ("GC-0379", "lightning.pytorch.callbacks.ModelCheckpoint(every_n_train_steps=100)", NO),
    ("GC-0379", "lightning.pytorch.callbacks.ModelCheckpoint(monitor='val_loss', every_n_train_steps=0)", NO),
    ("GC-0382", "torchmetrics.classification.MulticlassF1Score(num_classes=3)", YES),
    ("GC-0382", "torchmetrics.classification.MulticlassF1Score(num_classes=3, average='micro')", NO),
    ("GC-0383", "torchmetrics.classification.MulticlassExactMatch(num_classes=3, ignore_index=0)", YES),
    ("GC-0383", "torchmetrics.classification.MulticlassExactMatch(num_classes=3)", NO),
    ("GC-0346", "torch.optim.Adam(x, capturable=True)", YES),
    ("GC-0346", "torch.optim.Adam(x, capturable=False)", NO),
    ("GC-0441", "parser.link_arguments('a', 'model.b', apply_on='instantiate')", YES),
    ("GC-0441", "parser.link_arguments('a', 'b')", NO),
    ("GC-0446", "trl.DPOTrainer(model, peft_config=LoraConfig(), generate_during_eval=True)", YES),
    ("GC-0446", "trl.DPOTrainer(model, peft_config=LoraConfig())", NO),
    ("GC-0490", "torchmetrics.detection.MeanAveragePrecision(iou_type=('bbox', 'segm'))", YES),
    ("GC-0490", "torchmetrics.detection.MeanAveragePrecision(iou_type='segm')", NO),
    ("GC-0491", "torchmetrics.MeanAveragePrecision(max_detection_thresholds=[1, 10, 300])", YES),
    ("GC-0491", "torchmetrics.MeanAveragePrecision(max_detection_thresholds=limits)", YES),
    ("GC-0491", "torchmetrics.MeanAveragePrecision(max_detection_thresholds=[1, 100, 300])", NO),
    ("GC-0491", "torchmetrics.MeanAveragePrecision(max_detection_thresholds=None)", NO),
    ("GC-0491", "torchmetrics.MeanAveragePrecision()", NO),
    ("GC-0494", "self.clip_gradients(opt, 1.0)", YES),
    ("GC-0494", "self.clip_gradients(opt, gradient_clip_val=0)", NO),
    ("GC-0494", "fabric.clip_gradients(model, opt, max_norm=1.0)", NO),
    ("GC-0495", "lightning.Trainer(reload_dataloaders_every_n_epochs=10)", YES),
    ("GC-0495", "lightning.Trainer(reload_dataloaders_every_n_epochs=1)", NO),
    ("GC-0534", "torch.optim.SGD(x, lr=0.1)", YES),
    ("GC-0534", "torch.optim.SGD(x, 0.1, 0.9)", NO),
    ("GC-0541", "trl.SFTConfig('out', max_length=None)", YES),
    ("GC-0541", "trl.SFTConfig('out')", NO),
    ("GC-0550", "torchmetrics.classification.MulticlassRecall(num_classes=10, ignore_index=0)", YES),
    ("GC-0550", "torchmetrics.classification.MulticlassRecall(num_classes=10, ignore_index=255)", NO),
    ("GC-0550", "torchmetrics.classification.MulticlassRecall(num_classes=n, ignore_index=255)", NO),
    ("GC-0561", "lightning.Trainer(accumulate_grad_batches=8, limit_train_batches=4)", YES),
    ("GC-0561", "lightning.Trainer(accumulate_grad_batches=8, limit_train_batches=0.5)", NO),
    ("GC-0561", "lightning.Trainer(accumulate_grad_batches=8, limit_train_batches=args.limit)", NO),
    ("GC-0591", "lightning.Trainer(gpus=1)", YES),
    ("GC-0591", "lightning.Trainer(resume_from_checkpoint=None)", YES),
    ("GC-0591", "lightning.Trainer(weights_summary=None)", YES),
    ("GC-0591", "lightning.Trainer(accelerator='gpu', devices=1)", NO),
    ("GC-0600", "torch.optim.lr_scheduler.StepLR(opt, 1, verbose=False)", YES),
    ("GC-0600", "torch.optim.lr_scheduler.StepLR(opt, 1)", NO),
    ("GC-0602", "schedulefree.SGDScheduleFree(w, foreach=False)", YES),
    ("GC-0602", "schedulefree.SGDScheduleFree(w, foreach=fast)", NO),
    ("GC-0602", "schedulefree.SGDScheduleFree(w)", NO),
    ("GC-0603", "torchmetrics.Accuracy(num_classes=10)", YES),
    ("GC-0603", "torchmetrics.Accuracy('multiclass', num_classes=10)", NO),
    ("GC-0603", "torchmetrics.Accuracy(**chosen)", UNKNOWN),
    ("GC-0603", "torchmetrics.functional.recall(p, y)", YES),
    ("GC-0603", "torchmetrics.functional.recall(p, y, 'binary')", NO),
    ("GC-0622", "datasets.load_dataset('x', trust_remote_code=True)", YES),
    ("GC-0622", "datasets.load_dataset('x')", NO),
    ("GC-0623", "datasets.Audio(16000, False)", YES),
    ("GC-0655", "ultralytics.YOLO('yolov8n.pt')", YES),
    ("GC-0655", "ultralytics.YOLO('weights/yolov8n-seg.pt')", YES),
    ("GC-0655", "ultralytics.YOLO('yolo11n.pt')", NO),
    ("GC-0655", "ultralytics.YOLO(path)", NO),
    ("GC-0666", "timm.create_model('beit_base_patch16_224')", YES),
    ("GC-0666", "timm.create_model('resnet50')", NO),
    ("GC-0685", "peft.LoraConfig(r=8, lora_alpha=16, lora_bias=True)", YES),
    ("GC-0685", "peft.LoraConfig(r=rank, lora_alpha=alpha, lora_bias=True)", YES),
    ("GC-0685", "peft.LoraConfig(lora_bias=True)", NO),
    ("GC-0685", "peft.LoraConfig(r=8, lora_alpha=16)", NO),
    ("GC-0688", "lightning.Trainer(devices=2)", YES),
    ("GC-0688", "lightning.Trainer(devices=[1])", NO),
    ("GC-0688", "lightning.Trainer(gpus=-1)", YES),
    ("GC-0688", "lightning.Trainer(devices=args.devices)", NO),
    ("GC-0688", "lightning.Trainer(devices=4, strategy='ddp_notebook')", NO),
    ("GC-0689", "lightning.Trainer(use_distributed_sampler=False)", YES),
    ("GC-0689", "lightning.Trainer(use_distributed_sampler=True)", NO),
    ("GC-0691", f"sentence_transformers.SentenceTransformer('BAAI/bge-m3', {FLASH})", YES),
    ("GC-0691", f"sentence_transformers.SentenceTransformer('Qwen/Qwen3', {FLASH})", NO),
    ("GC-0692", "sentence_transformers.losses.GISTEmbedLoss(m, g, margin=0.1, gather_across_devices=True)", YES),
    ("GC-0692", "sentence_transformers.losses.GISTEmbedLoss(m, g, gather_across_devices=True)", NO),
    ("GC-0695", "deepspeed.moe.layer.MoE(512, expert, 8, ep_size=4)", YES),
    ("GC-0695", "deepspeed.moe.layer.MoE(512, expert, 8)", NO),
    ("GC-0698", "trl.GRPOConfig('out', top_entropy_quantile=0.2)", YES),
    ("GC-0698", "trl.GRPOConfig('out', top_entropy_quantile=1.0)", NO),
    ("GC-0700", "peft.EvaConfig(rho=2.0)", YES),
    ("GC-0700", "peft.EvaConfig(use_label_mask=False)", NO),
    ("GC-0701", "diffusers.ContextParallelConfig(ring_degree=2)", YES),
    ("GC-0701", "diffusers.ContextParallelConfig(ulysses_degree=2)", NO),
    ("GC-0702", "sentence_transformers.CrossEncoder('m', model_kwargs={'dtype': torch.bfloat16})", YES),
    ("GC-0702", "sentence_transformers.CrossEncoder('m', model_kwargs={'dtype': torch.float32})", NO),
    ("GC-0704", "peft.LoraConfig(rank_pattern={'q_proj': 4})", YES),
    ("GC-0704", "peft.LoraConfig(rank_pattern={})", NO),
]


@pytest.mark.parametrize(("record", "call", "expected"), CASES, ids=[f"{record} {call}" for record, call, _ in CASES])
def test_a_call_is_one_that_a_record_asks_for(record: str, call: str, expected: Truth) -> None:
    issue = load().get(record)
    assert issue is not None
    terms = [term for combination in issue.affected for term in combination.terms]
    symbols = [one for term in terms if isinstance(term, (SymbolTerm, SymbolAbsentTerm)) for one in term.symbols]
    text = f"import functools, {PACKAGES}\n{call}\nloss.backward()\nopt.step()\n"
    stated = [one.value for one in scan(Document("train.py", text)).settings if one.key == "code.calls"]
    calls = tuple(line for value in stated if isinstance(value, tuple) for line in map(str, value))
    assert truth_of_use(calls, tuple(filter(is_call, symbols))) is expected

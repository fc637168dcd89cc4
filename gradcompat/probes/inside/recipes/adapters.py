"""Do PEFT's adapters sit where they were asked for, start from the model's own output, and merge into the same output?

Each question has its control, all of them shares of what has to be right anyway: layers told with a pattern; outputs
that an adapter without tokens leaves alone at the start; outputs that an adapter changes once it has weights; weights
that stay trainable where the base is not marked as quantised; weights that are made trainable again by hand.
"""

import inspect
import tempfile

from .. import models, toy_tokenizer, trl_trainers
from ..skipping import Skip

_LAYER = 1
_EXPERTS = 3


def measure(parameters, device, seed):  # noqa: ARG001  # what is asked here is the same on every device
    """``what``: layers, tokens, merged, frozen, second; ``kind`` of merged: lora, dora, embedding.

    With ``plant`` the adapter of layers is put on another one, that of tokens gets other rows, the merged model another
    scale, and the weights of frozen and second are frozen by hand.
    """
    kinds = {"layers": _layers, "tokens": _tokens, "merged": _merged, "frozen": _frozen, "second": _second}
    return kinds[parameters.get("what", "layers")](parameters, seed)


def _config(**wanted):
    from peft import LoraConfig

    try:
        return LoraConfig(**wanted)
    except TypeError as error:
        known = inspect.signature(LoraConfig.__init__).parameters
        missing = ", ".join(name for name in wanted if name not in known)
        raise Skip("this release of PEFT has no %s" % missing) from error


def _layers(parameters, seed):
    """Experts in a list: the names of modules have two numbers, and only the first is the layer's."""
    import torch
    from peft import get_peft_model

    def expert():
        return torch.nn.ModuleDict({"up_proj": torch.nn.Linear(4, 4)})

    def block():
        return torch.nn.ModuleDict({"experts": torch.nn.ModuleList([expert() for _ in range(_EXPERTS)])})

    def model():
        torch.manual_seed(seed)
        layers = torch.nn.ModuleList([block() for _ in range(3)])
        return torch.nn.ModuleDict({"model": torch.nn.ModuleDict({"layers": layers})})

    wanted = {"model.layers.%d.experts.%d.up_proj" % (_LAYER, index) for index in range(_EXPERTS)}

    def share(asked, **given):
        made = get_peft_model(model(), _config(target_modules=["up_proj"], layers_to_transform=[asked], **given))
        names = [name for name, _ in made.named_parameters() if "lora_A" in name]
        found = {name.split(".lora_A")[0].replace("base_model.model.", "") for name in names}
        return len(found & wanted) / len(found | wanted)

    return {
        "right_share": share(_LAYER + 1 if parameters.get("plant") else _LAYER),
        "control_share": share(_LAYER, layers_pattern="layers"),
    }


def _tokens(parameters, seed):
    """Gemma 3 scales its embeddings inside their layer; whoever goes round that layer loses the factor."""
    import torch
    import transformers
    from peft import get_peft_model

    if not hasattr(transformers, "Gemma3TextConfig"):
        raise Skip("this release of transformers has no Gemma 3")
    config = transformers.Gemma3TextConfig(
        vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, sliding_window=16, use_cache=False,
    )  # fmt: skip
    ids = torch.arange(3, 19)[None]

    def model():
        torch.manual_seed(seed)
        return transformers.Gemma3ForCausalLM(config).eval()

    with torch.no_grad():
        reference = model()(input_ids=ids).logits

        def change(adapted):
            return (adapted.eval()(input_ids=ids).logits - reference).abs() / reference.abs().max()

        adapted = get_peft_model(model(), _config(target_modules=["q_proj"], trainable_token_indices=[5]))
        plain = get_peft_model(model(), _config(target_modules=["q_proj"]))
        if parameters.get("plant"):
            for name, weight in adapted.named_parameters():
                if "trainable_tokens" in name:
                    weight.mul_(2)
        return {
            "start_change": float(change(adapted).max()),
            "control_share": float((change(plain) < 1e-5).double().mean()),
        }


def _merged(parameters, seed):
    import torch
    from peft import get_peft_model

    kind = parameters.get("kind", "lora")
    given = {
        "lora": {"target_modules": ["q_proj", "v_proj"]},
        "dora": {"target_modules": ["q_proj", "v_proj"], "use_dora": True},
        "embedding": {"target_modules": ["embed_tokens"]},
    }[kind]
    model = get_peft_model(models.build("llama", seed), _config(r=4, lora_alpha=16, **given)).eval()
    generator = torch.Generator().manual_seed(seed + 1)
    ids = torch.randint(3, 60, (2, models.LENGTH), generator=generator)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_" in name and "magnitude" not in name:
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.1)
        adapted = model(input_ids=ids).logits
        with model.disable_adapter():
            plain = model(input_ids=ids).logits
        if parameters.get("plant"):
            for name, weight in model.named_parameters():
                if "lora_B" in name or "lora_embedding_B" in name:
                    weight.mul_(2)
        merged = model.merge_and_unload()(input_ids=ids).logits
    scale = float((adapted - plain).abs().max())
    return {
        "merged_change": float((merged - adapted).abs().max()) / scale if scale else float("nan"),
        "control_share": float((adapted != plain).double().mean()),
    }


def _frozen(parameters, seed):
    """A ready adapter on a base that is marked as quantised, handed to SFTTrainer; nothing is quantised really."""
    from peft import get_peft_model

    def share(quantised):
        model = get_peft_model(toy_tokenizer.model(seed), _config(target_modules=["q_proj"]))
        if quantised:
            model.is_loaded_in_8bit = model.base_model.model.is_loaded_in_8bit = True
        before = sum(weight.requires_grad for weight in model.parameters())
        trainer = trl_trainers.trainer(model, {"text": ["w1 w2 w3 </s>"] * 4}, toy_tokenizer.tokenizer("<pad>"), "cpu")
        if quantised and parameters.get("plant"):
            trainer.model.requires_grad_(False)
        return sum(weight.requires_grad for weight in trainer.model.parameters()) / before

    return {"trainable_share": share(quantised=True), "control_share": share(quantised=False)}


def _second(parameters, seed):
    """An adapter in training, while another is loaded beside it for reference."""
    import torch
    from peft import get_peft_model

    torch.manual_seed(seed)
    model = get_peft_model(torch.nn.Sequential(torch.nn.Linear(4, 4)), _config(r=2, target_modules=["0"]))
    mine = [weight for name, weight in model.named_parameters() if "lora_" in name]
    folder = tempfile.mkdtemp(dir=".")
    model.save_pretrained(folder)
    model.load_adapter(folder, adapter_name="reference")
    if parameters.get("plant"):
        model.requires_grad_(False)
    kept = sum(weight.requires_grad for weight in mine) / len(mine)
    model.set_adapter("default")
    return {"kept_share": kept, "control_share": sum(weight.requires_grad for weight in mine) / len(mine)}

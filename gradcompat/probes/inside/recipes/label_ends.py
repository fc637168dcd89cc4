"""Do labels that Pix2StructProcessor makes of texts end with the token that says so?

Its tokenizer is a small one, which puts that token behind every text. The control is the tokenizer by itself.
"""

from ..skipping import Skip

_TEXTS = ("a b c", "b")
_WORDS = ("<pad>", "</s>", "<unk>", "a", "b", "c")


def measure(parameters, device, seed):  # noqa: ARG001  # nothing is drawn, and nothing computed
    """With ``plant`` the processor is told to leave special tokens out."""
    try:
        from transformers import Pix2StructImageProcessor, Pix2StructProcessor
    except ImportError as error:
        raise Skip("this release has no Pix2Struct") from error

    tokenizer = _tokenizer()
    processor = Pix2StructProcessor(image_processor=Pix2StructImageProcessor(), tokenizer=tokenizer)
    given = {"add_special_tokens": False} if parameters.get("plant") else {}

    def share(rows):
        return sum(row[-1] == tokenizer.eos_token_id for row in rows) / len(_TEXTS)

    return {
        "ended_share": share(processor(text=list(_TEXTS), **given)["input_ids"]),
        "control": share(tokenizer(list(_TEXTS))["input_ids"]),
    }


def _tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import T5TokenizerFast

    special = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
    known = {word: place for place, word in enumerate(_WORDS)}
    words = Tokenizer(models.WordLevel(known, unk_token=special["unk_token"]))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return T5TokenizerFast(tokenizer_object=words, extra_ids=0, **special)

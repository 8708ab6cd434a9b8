"""Makes the tiny classifiers of this folder, and what `transformers` says of some texts by them.

    pip install torch transformers onnx onnxruntime
    python make.py

Seeded: a run with the versions below writes the same weights again. Each folder holds what `save_pretrained` writes,
and `expected.json`: texts or pairs of texts with the model's probabilities, each computed alone, in float32, without
padding. `onnx/` is the folder `bert/` once more, exported. Made with torch 2.15.0, transformers 5.24.0.
"""

import json
import shutil
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)

HERE = Path(__file__).parent
POSITIONS = 48
LONG = "the river is long and the bridge over the river is old, " * 9

# A text, or a premise and a hypothesis; of different lengths, so that batches pad.
PAIRS = [
    ("the cat sat on the mat", "a cat sat"),
    ("it rained all day in the town", "the day was dry and the town was warm"),
    ("a dog", None),
    ("the old bridge over the river is closed today because it rained all night", "the bridge is open"),
    (LONG, "the bridge is new"),
    (LONG, None),
    ("", "nothing was said"),
    ("zürich 東京 №7 🙂", "the town is far"),
    ("no", "yes"),
]

NLI = {0: "contradiction", 1: "entailment", 2: "neutral"}
WORDS = sorted({word for pair in PAIRS for text in pair if text for word in text.replace(",", " , ").split()})
TEXTS = [text for pair in PAIRS for text in pair if text]


def word_piece():
    letters = sorted({letter for word in WORDS for letter in word if letter.isascii()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters), "the", "bridge", "river"]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    return tokenizer


def byte_pairs(start, end, pad, unknown):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = [start, pad, end, unknown]
    tokenizer.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=72, special_tokens=special, show_progress=False))
    return tokenizer


def roberta_bpe():
    tokenizer = byte_pairs("<s>", "</s>", "<pad>", "<unk>")
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def modern_bpe():
    tokenizer = byte_pairs("[CLS]", "[SEP]", "[PAD]", "[UNK]")
    tokenizer.post_processor = between("[CLS]", 0, "[SEP]", 2)
    return tokenizer


def unigram(start, pad, end, unknown):
    letters = sorted({letter for word in WORDS for letter in word if letter.isascii()})
    pieces = [(start, 0.0), (pad, 0.0), (end, 0.0), (unknown, 0.0), ("▁", -3.0)]
    pieces += [(f"▁{word}", -4.0) for word in ("the", "cat", "river", "bridge", "is")] + [(letter, -5.0) for letter in letters]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = between(start, 0, end, 2) if start == "[CLS]" else twice(start, 0, end, 2)
    tokenizer.add_special_tokens([start, pad, end, unknown])
    return tokenizer


def between(start, start_id, end, end_id):
    return processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B:1 {end}:1",
        special_tokens=[(start, start_id), (end, end_id)],
    )


def twice(start, start_id, end, end_id):
    return processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} {end} $B {end}",
        special_tokens=[(start, start_id), (end, end_id)],
    )


SMALL = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=POSITIONS)
OFFSET = dict(SMALL, max_position_embeddings=POSITIONS + 2, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2)


def deberta(**options):
    return DebertaV2Config(**dict(SMALL, relative_attention=True, pad_token_id=1, id2label=NLI, **options))


def modern(**options):
    return ModernBertConfig(
        **dict(SMALL, num_hidden_layers=3, global_attn_every_n_layers=2, local_attention=8, pad_token_id=1, **options)
    )


def main():
    unigram_deberta = unigram("[CLS]", "[PAD]", "[SEP]", "[UNK]")
    made = [
        ("bert", BertForSequenceClassification, BertConfig(**SMALL, id2label=NLI), word_piece()),
        (
            "distilbert",
            DistilBertForSequenceClassification,
            DistilBertConfig(dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=POSITIONS),
            word_piece(),
        ),
        (
            "roberta",
            RobertaForSequenceClassification,
            RobertaConfig(**OFFSET, id2label={0: "insult", 1: "threat", 2: "slur"}, problem_type="multi_label_classification"),
            roberta_bpe(),
        ),
        (
            "xlm-roberta",
            XLMRobertaForSequenceClassification,
            XLMRobertaConfig(**OFFSET, id2label={0: "supported"}),
            unigram("<s>", "<pad>", "</s>", "<unk>"),
        ),
        (
            "deberta-v3",
            DebertaV2ForSequenceClassification,
            deberta(
                position_buckets=8,
                share_att_key=True,
                norm_rel_ebd="layer_norm",
                pos_att_type=["p2c", "c2p"],
                position_biased_input=False,
                type_vocab_size=0,
            ),
            unigram_deberta,
        ),
        (
            "deberta-v2",
            DebertaV2ForSequenceClassification,
            deberta(
                embedding_size=12,
                conv_kernel_size=3,
                conv_act="gelu",
                pos_att_type="c2p|p2c",
                max_relative_positions=10,
                type_vocab_size=2,
                position_biased_input=True,
                pooler_hidden_act="tanh",
            ),
            unigram_deberta,
        ),
        ("modernbert", ModernBertForSequenceClassification, modern(id2label=NLI), modern_bpe()),
        (
            "modernbert-mean",
            ModernBertForSequenceClassification,
            modern(
                id2label={0: "hallucinated", 1: "consistent"},
                classifier_pooling="mean",
                attention_bias=True,
                mlp_bias=True,
                norm_bias=True,
                classifier_bias=True,
            ),
            modern_bpe(),
        ),
    ]
    for seed, (name, kind, config, tokenizer) in enumerate(made):
        make(name, seed, kind, config, tokenizer)
    export("bert", "onnx")


def make(name, seed, kind, config, tokenizer):
    torch.manual_seed(seed)
    config.vocab_size = tokenizer.get_vocab_size()
    model = kind(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # Wide, and not only where `transformers` would draw: a bias or a norm that is left out must show.
            parameter.copy_((parameter + 0.35 * torch.randn_like(parameter)).half().float())
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    shard = {"max_shard_size": "8KB"} if name == "xlm-roberta" else {}
    stored = kind(config).eval()
    stored.load_state_dict(model.state_dict())
    stored = stored if name == "distilbert" else stored.half()
    stored.save_pretrained(folder, **shard)
    for file in folder.iterdir():
        file.chmod(0o644)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "expected.json").write_text(json.dumps(expected(model, tokenizer), ensure_ascii=False, indent=1) + "\n")


def expected(model, tokenizer):
    tokenizer.enable_truncation(POSITIONS, strategy="only_first")
    types = getattr(model.config, "type_vocab_size", 0) > 1 and model.config.model_type in ("bert", "deberta-v2")
    said = []
    for premise, hypothesis in PAIRS:
        tokens = tokenizer.encode(premise, hypothesis) if hypothesis else tokenizer.encode(premise)
        inputs = {"input_ids": torch.tensor([tokens.ids]), "attention_mask": torch.ones(1, len(tokens.ids), dtype=torch.long)}
        if types:
            inputs["token_type_ids"] = torch.tensor([tokens.type_ids])
        with torch.no_grad():
            logits = model(**inputs).logits[0]
        one_of = len(logits) > 1 and model.config.problem_type != "multi_label_classification"
        probabilities = torch.softmax(logits, 0) if one_of else torch.sigmoid(logits)
        said.append({"text": premise, "pair": hypothesis, "tokens": len(tokens.ids), "probabilities": probabilities.tolist()})
    return said


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).logits


def export(source, name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "onnx").mkdir(parents=True)
    model = BertForSequenceClassification.from_pretrained(HERE / source, dtype=torch.float32, attn_implementation="eager").eval()

    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        Logits(model),
        tuple(torch.ones(2, 7, dtype=torch.long) for _ in names),
        str(folder / "onnx" / "model.onnx"),
        input_names=names,
        output_names=["logits"],
        dynamic_axes={key: {0: "rows", 1: "width"} for key in names} | {"logits": {0: "rows"}},
        dynamo=False,
    )
    for file in ("config.json", "tokenizer.json", "expected.json"):
        shutil.copy(HERE / source / file, folder / file)


main()

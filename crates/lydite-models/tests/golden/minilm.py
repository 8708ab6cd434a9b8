"""Writes minilm.json: vectors of texts by all-MiniLM-L6-v2, computed in float64 with nothing but NumPy.

    python minilm.py FOLDER > minilm.json       # needs numpy, scipy, safetensors, tokenizers

FOLDER holds config.json, tokenizer.json and model.safetensors. A plain transcription of the encoder (post-norm BERT,
exact GELU, mean over all pieces, length 1), so that it shares nothing with the code that it checks. Each text has its
vector rounded to 7 digits; of the last, also a few of its pieces with their places and vectors' first numbers.
"""

import json
import sys

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

FOLDER = sys.argv[1]
CONFIG = json.load(open(f"{FOLDER}/config.json"))
TENSORS = {name: tensor.astype(np.float64) for name, tensor in load_file(f"{FOLDER}/model.safetensors").items()
           if tensor.dtype == np.float32}
HEADS, EPSILON = CONFIG["num_attention_heads"], CONFIG["layer_norm_eps"]
TOKENIZER = Tokenizer.from_file(f"{FOLDER}/tokenizer.json")
TOKENIZER.no_padding()
TOKENIZER.enable_truncation(256)

TEXTS = [
    "",
    "Yes.",
    "The parcel reached us on Tuesday, so the refund is on its way.",
    "Is a cat on the mat?  Or — rather — is it a hat?!",
    "one\ntwo\tthree\r\n\n  four ",
    "Größe, naïve café, ÅNGSTRÖM; e\u0301 is two characters, é is one.",
    "東京は日本の首都です。北京是中国的首都。",
    "Москва — столица России, а القاهرة عاصمة مصر.",
    "👩‍👩‍👧 sent 🎉🎉 and a \u200bzero-width space, a \u0000 null, a [SEP] and a [MASK].",
    "x" * 150 + " antidisestablishmentarianism 3.14159 user@example.org https://example.org/a?b=c#d",
    "The engineers measured each part twice before they wrote the report. " * 40,
    "No refund was paid; the customer, who had waited 17 days, wrote again.",
]


def linear(x, name):
    return x @ TENSORS[f"{name}.weight"].T + TENSORS[f"{name}.bias"]


def normalize(x, name):
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)
    return x * TENSORS[f"{name}.weight"] + TENSORS[f"{name}.bias"]


def attend(x, name):
    size = x.shape[1] // HEADS
    q, k, v = (linear(x, f"{name}.self.{part}").reshape(len(x), HEADS, size).transpose(1, 0, 2)
               for part in ("query", "key", "value"))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(size)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return linear((shares @ v).transpose(1, 0, 2).reshape(x.shape), f"{name}.output.dense")


def forward(ids):
    x = TENSORS["embeddings.word_embeddings.weight"][ids] + TENSORS["embeddings.token_type_embeddings.weight"][0]
    x = normalize(x + TENSORS["embeddings.position_embeddings.weight"][: len(ids)], "embeddings.LayerNorm")
    for layer in range(CONFIG["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        x = normalize(x + attend(x, f"{name}.attention"), f"{name}.attention.output.LayerNorm")
        inner = linear(x, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2)))
        x = normalize(x + linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    return x


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def numbers(x):
    return [round(float(number), 7) for number in x]


def main():
    texts = []
    for text in TEXTS:
        encoding = TOKENIZER.encode(text)
        texts.append({"text": text, "pieces": len(encoding.ids), "vector": numbers(unit(forward(encoding.ids).mean(0)))})
    rows = unit(forward(encoding.ids))[1:-1]
    pieces = [{"begin": begin, "end": end, "first": numbers(row[:4])}
              for (begin, end), row in zip(encoding.offsets[1:-1], rows)]
    print("{\"texts\": [")
    print(",\n".join(json.dumps(text, ensure_ascii=True, separators=(",", ":")) for text in texts))
    print("], \"pieces_of_last\": " + json.dumps(pieces, separators=(",", ":")) + "}")


main()

"""The rival: the five checks of five.yaml as a skilled Python engineer would write them.

usage: expert.py IN.jsonl OUT.jsonl

One pass, one process, the fastest libraries there are: orjson, rapidfuzz, jsonschema-rs. It keeps no
run, gives no reasons and makes no report. Read it as a bound on what Python can do, not as a product.
"""
import re
import string
import sys

import jsonschema_rs
import orjson
from rapidfuzz.distance.Levenshtein import normalized_similarity

BUFFER = 1 << 18
SCHEMA = {
    "type": "object",
    "required": ["id", "answer"],
    "properties": {"id": {"type": "integer"}, "answer": {"type": "string"}},
}
fits_schema = jsonschema_rs.validator_for(SCHEMA).is_valid
has_shape = re.compile(r'"id":\s*\d+,\s*"answer":\s*"[a-z ]+"').search
DELETED = str.maketrans("", "", string.punctuation + string.whitespace)


def normal(text):
    return text.casefold().translate(DELETED)


def is_valid(text):
    try:
        return fits_schema(orjson.loads(text))
    except orjson.JSONDecodeError:
        return False


def judge(line, loads=orjson.loads, dumps=orjson.dumps):
    record = loads(line)
    output, reference = record["output"], record["reference"]
    return dumps(
        {
            "id": record["id"],
            "exact": output == reference or normal(output) == normal(reference),
            "contains": record["contains"].casefold() in output.casefold(),
            "json_schema": is_valid(output),
            "regex": has_shape(output) is not None,
            "levenshtein": normalized_similarity(output, reference),
        },
        option=orjson.OPT_APPEND_NEWLINE,
    )


def main():
    source, target = sys.argv[1:]
    with open(source, "rb", BUFFER) as lines, open(target, "wb", BUFFER) as results:
        results.writelines(map(judge, lines))


if __name__ == "__main__":
    main()

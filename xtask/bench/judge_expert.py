"""What a skilled engineer writes to have 5,000 answers judged: asyncio, one session, own retries, no framework.

usage: judge_expert.py BASE_URL RECORDS.jsonl RESULTS.jsonl CONCURRENCY
"""

import asyncio
import sys

import aiohttp
import orjson
import uvloop

BASE, RECORDS, RESULTS, CONCURRENCY = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
ATTEMPTS, TIMEOUT = 8, aiohttp.ClientTimeout(total=10)
FORM = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "reasoning": {"type": "string"},
                "verdict": {"type": "string", "enum": ["Y", "N"]},
            },
            "required": ["reasoning", "verdict"],
            "additionalProperties": False,
        },
    },
}
QUESTION = "Does the answer hold to its context? Reply Y or N.\n\nQuestion: {}\n\nContext: {}\n\nAnswer: {}"


def body(record):
    text = QUESTION.format(record["query"], "\n".join(record["contexts"]), record["output"])
    messages = [{"role": "user", "content": text}]
    return orjson.dumps({"model": "mock", "temperature": 0, "response_format": FORM, "messages": messages})


async def judge(session, slots, record):
    data = body(record)
    async with slots:
        for attempt in range(ATTEMPTS):
            try:
                async with session.post(f"{BASE}/v1/chat/completions", data=data) as reply:
                    if reply.status == 429:
                        await asyncio.sleep(float(reply.headers.get("retry-after", 1)))
                        continue
                    if reply.status >= 500:
                        await asyncio.sleep(0.1 * 2**attempt)
                        continue
                    message = orjson.loads(await reply.read())["choices"][0]["message"]
                    verdict = orjson.loads(message["content"])["verdict"]
                    if verdict in ("Y", "N"):
                        return {"id": record["id"], "verdict": "pass" if verdict == "Y" else "fail"}
            except (aiohttp.ClientError, asyncio.TimeoutError, ValueError, KeyError):
                pass
    return {"id": record["id"], "verdict": None}


async def main():
    with open(RECORDS, "rb") as file:
        records = [orjson.loads(line) for line in file]
    slots = asyncio.Semaphore(CONCURRENCY)
    headers = {"content-type": "application/json", "authorization": "Bearer none"}
    connector = aiohttp.TCPConnector(limit=CONCURRENCY)
    async with aiohttp.ClientSession(connector=connector, timeout=TIMEOUT, headers=headers) as session:
        results = await asyncio.gather(*(judge(session, slots, record) for record in records))
    with open(RESULTS, "wb") as file:
        file.writelines(orjson.dumps(result) + b"\n" for result in results)


uvloop.run(main())

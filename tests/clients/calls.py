"""Calls every tool that only reads, with answers that are full and answers that are empty.

Both generations of the Python SDK use it: each checks an answer against the tool's output schema and
raises when it does not fit.
"""

import asyncio
import json
import pathlib

CALLS = json.loads(pathlib.Path(__file__).with_name("calls.json").read_text(encoding="utf-8"))
kept: dict[str, object] = {}
prepared = False


def field(thing, *names):
    """The generations write the same field as `camelCase` and as `snake_case`."""
    return next(getattr(thing, name) for name in names if hasattr(thing, name))


def fill(value):
    """`$name` is what an earlier call kept under that name."""
    return kept[value[1:]] if isinstance(value, str) and value.startswith("$") else value


async def run(client, call: dict) -> None:
    arguments = {name: fill(value) for name, value in call.get("arguments", {}).items()}
    answer = await client.call_tool(call["tool"], arguments)
    told = f"{call['tool']} {arguments}: {answer}"
    if call.get("fails"):
        assert field(answer, "isError", "is_error") and answer.content[0].text, told
        return
    structured = field(answer, "structuredContent", "structured_content")
    assert not field(answer, "isError", "is_error") and answer.content and structured, told
    if "has" in call:
        assert structured.get(call["has"]), f"no {call['has']}: {told}"
    if "none" in call:
        assert not structured.get(call["none"]), f"some {call['none']}: {told}"
    if arguments.get("format") == "json":
        assert json.loads(answer.content[0].text) == structured, told
    for name, of in call.get("keep", {}).items():
        kept[name] = structured[of]


async def every_read_tool(client) -> None:
    """All calls, on a client that is connected. What has to be there is made by the first."""
    global prepared
    called = {call["tool"] for part in ("fresh", "empty", "full") for call in CALLS[part]}
    for tool in (await client.list_tools()).tools:
        reads = field(tool.annotations, "readOnlyHint", "read_only_hint")
        if reads and field(tool, "outputSchema", "output_schema"):
            assert tool.name in called, f"calls.json leaves out {tool.name}"
    if not prepared:
        for call in CALLS["fresh"] + CALLS["setup"]:
            await run(client, call)
        prepared = True
    for call in CALLS["empty"]:
        await run(client, call)
    # The vault is read in the background.
    for _ in range(100):
        found = await client.call_tool("search", {"query": "coffee brewing"})
        if field(found, "structuredContent", "structured_content")["results"]:
            break
        await asyncio.sleep(0.2)
    for call in CALLS["full"] + CALLS["walk"]:
        await run(client, call)

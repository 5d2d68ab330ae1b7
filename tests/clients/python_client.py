"""The Python SDK's client: lists and calls over stdio, streamable HTTP and HTTP+SSE, in both eras.

    with_server.sh BINARY python python_client.py [TOOL [ARGUMENTS]]

SERVER_TRANSPORTS (default `stdio,http,sse`) narrows what is tried.
"""

import asyncio
import json
import os
import sys
import traceback
import warnings

from mcp import Client, MCPDeprecationWarning, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from calls import every_read_tool

TOOL = sys.argv[1] if len(sys.argv) > 1 else "search"
ARGUMENTS = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {"query": "tea"}
URL = os.environ["SERVER_URL"]
OWNER = {"Authorization": "Bearer " + os.environ["SERVER_TOKEN"]}
# The handshake era still has what the newest revision dropped.
warnings.simplefilter("ignore", MCPDeprecationWarning)
EXPECTED = {"legacy": "2025-11-25", "auto": "2026-07-28"}


def target(transport: str, headers: dict[str, str]):
    if transport == "stdio":
        return StdioServerParameters(command=os.environ["SERVER_BIN"], args=json.loads(os.environ["SERVER_ARGS"]))
    if transport == "http":
        return streamable_http_client(URL + "/_system/mcp", http_client=create_mcp_http_client(headers=headers))
    return sse_client(URL + "/_system/sse", headers=headers)


async def every_tool(client: Client) -> list[str]:
    names, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if not cursor:
            return names


async def owner(transport: str, mode: str) -> None:
    async with Client(target(transport, OWNER), mode=mode, read_timeout_seconds=120) as client:
        assert client.protocol_version == EXPECTED[mode], client.protocol_version
        assert client.server_info.name and client.server_info.version, client.server_info
        names = await every_tool(client)
        assert TOOL in names, names
        assert len(names) == len(set(names)), names
        answer = await client.call_tool(TOOL, ARGUMENTS)
        assert not answer.is_error and answer.content, answer
        await every_read_tool(client)
        capabilities = client.server_capabilities
        if capabilities.prompts:
            assert isinstance((await client.list_prompts()).prompts, list)
        if capabilities.resources:
            assert isinstance((await client.list_resources()).resources, list)
            assert isinstance((await client.list_resource_templates()).resource_templates, list)
        if mode == "legacy":
            await client.send_ping()


async def anonymous(mode: str) -> None:
    """Nobody in particular sees a part of what the owner sees."""
    async with Client(target("http", OWNER), mode=mode, read_timeout_seconds=120) as client:
        everything = await every_tool(client)
    async with Client(target("http", {}), mode=mode, read_timeout_seconds=120) as client:
        assert set(await every_tool(client)) <= set(everything)


async def main() -> int:
    wanted = os.environ.get("SERVER_TRANSPORTS", "stdio,http,sse").split(",")
    checks = [(f"{t} {m}", owner(t, m)) for t in ("stdio", "http") if t in wanted for m in ("legacy", "auto")]
    if "sse" in wanted:
        checks.append(("sse legacy", owner("sse", "legacy")))
    if "http" in wanted:
        checks += [(f"http {mode} anonymous", anonymous(mode)) for mode in ("legacy", "auto")]
    failed = 0
    for name, check in checks:
        try:
            await asyncio.wait_for(check, 120)
            print(f"pass python {name}", flush=True)
        except BaseException:
            failed = 1
            print(f"fail python {name}", flush=True)
            traceback.print_exc(file=sys.stdout)
    return failed


sys.exit(asyncio.run(main()))

"""The Python SDK's generation 1, which many clients still ship: calls every read tool over stdio,
streamable HTTP and HTTP+SSE.

    with_server.sh BINARY python python_client_1.py
"""

import asyncio
import json
import os
import sys
import traceback
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

from calls import every_read_tool

URL = os.environ["SERVER_URL"]
OWNER = {"Authorization": "Bearer " + os.environ["SERVER_TOKEN"]}


@asynccontextmanager
async def connect(transport: str):
    if transport == "stdio":
        server = StdioServerParameters(command=os.environ["SERVER_BIN"], args=json.loads(os.environ["SERVER_ARGS"]))
        opened = stdio_client(server)
    elif transport == "http":
        opened = streamablehttp_client(URL + "/_system/mcp", headers=OWNER)
    else:
        opened = sse_client(URL + "/_system/sse", headers=OWNER)
    async with opened as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        yield session


async def check(transport: str) -> None:
    async with connect(transport) as session:
        await every_read_tool(session)


async def main() -> int:
    failed = 0
    for transport in ("stdio", "http", "sse"):
        try:
            await asyncio.wait_for(check(transport), 120)
            print(f"pass python 1 {transport}", flush=True)
        except BaseException:
            failed = 1
            print(f"fail python 1 {transport}", flush=True)
            traceback.print_exc(file=sys.stdout)
    return failed


sys.exit(asyncio.run(main()))

"""The least that uvicorn can do: read a body, send fixed bytes. No server on it can be faster.

Run it: `python -m tests.bench.bare_server PORT`, with the answer on standard input.
"""

from __future__ import annotations

import sys

from starlette.types import Receive, Scope, Send

from replay.server.listening import bind, run_server


def main(port: int, body: bytes) -> None:
    """Serve until a signal."""
    headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    run_server(app, bind("127.0.0.1", port))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.stdin.buffer.read())

# mypy: ignore-errors
# (FastAPI and pydantic are there for measurements only; what is not installed has no types.)
"""StableToolBench's virtual API server as it answers a recorded call, written anew: an opponent.

The design is the original's (server/main.py at aa4ed9f): FastAPI on uvicorn in one process, a plain function,
which runs in the thread pool, without a declared answer; six required fields; names turned into a path; four
looks at the disk, then the API's whole JSON file loaded for every request; the answer found by Python's own
text of the arguments. Left out, in favour of this opponent: the access log and the line that the original
prints for each request, and what a call that is not recorded does.

Run it: `python -m tests.bench.original_server CACHE_FOLDER PORT`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request
from pydantic import BaseModel

from replay.benchmarks.stabletoolbench.naming import api_file_name, standardize_category, tool_folder


class Call(BaseModel):
    """The six fields of a call."""

    category: str
    tool_name: str
    api_name: str
    tool_input: str | dict
    strip: str
    toolbench_key: str


def make_app(folder: Path) -> FastAPI:
    """Make the server over one cache folder."""
    app = FastAPI()

    @app.post("/virtual")
    def answer(request: Request, call: Call):  # noqa: ANN202  the original declares no answer
        category = standardize_category(call.category)
        tool = tool_folder(call.tool_name, category)
        path = folder / category / tool / f"{api_file_name(call.api_name, call.tool_name)}.json"
        try:
            arguments = json.loads(call.tool_input)
        except (TypeError, ValueError):
            arguments = call.tool_input or {}
        there = all(place.exists() for place in (folder, folder / category, folder / category / tool, path))
        held = {}
        if there:
            with path.open() as file:
                held.update(json.load(file))
        return held[str(arguments)]

    return app


if __name__ == "__main__":
    uvicorn.run(make_app(Path(sys.argv[1])), port=int(sys.argv[2]), log_level="error", access_log=False)

"""The process that runs a self-test: `python -m replay.llm.llamacpp.selftest_process FILE SETTINGS`."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from replay.core.errors import ReplayError
from replay.llm.llamacpp.binding import load_library
from replay.llm.llamacpp.jobs import EngineSettings
from replay.llm.llamacpp.selftest import Failure, Outcome

__all__: list[str] = []


def _run(weights: Path, settings: EngineSettings) -> Outcome:
    try:
        load_library()  # says what is missing, before modules that need numpy are imported
        from replay.llm.llamacpp.examination import examine_model  # noqa: PLC0415

        return Outcome(report=examine_model(weights, settings))
    except ReplayError as error:
        parts = {name: getattr(error, name) for name in ("what", "where", "expected", "next_step")}
        return Outcome(failure=Failure(kind=type(error).__name__, **parts))


if __name__ == "__main__":
    outcome = _run(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=EngineSettings))
    sys.stdout.buffer.write(msgspec.json.encode(outcome))

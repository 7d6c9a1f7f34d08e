"""Sandboxes for tests and how they are called."""

from __future__ import annotations

from replay.benchmarks.acebench.world.sandbox import CLASSES, Sandbox
from replay.core.types import CallRequest, Json

__all__ = ["EVERYTHING", "ask", "make_box", "text"]

EVERYTHING = CLASSES
ON: Json = {"BaseApi": {"wifi": True, "logged_in": True}}
OFF: Json = {"BaseApi": {"wifi": False, "logged_in": False}}


def make_box(
    language: str = "en", *, on: bool = True, classes: tuple[str, ...] = EVERYTHING, clean: bool = False
) -> Sandbox:
    """A sandbox with Wi-Fi and login on or off."""
    return Sandbox(language, classes, ON if on else OFF, clean=clean)


def ask(box: Sandbox, tool: str, **arguments: Json) -> Json:
    """Call a tool; the item of the observation, or Python's words when it failed."""
    result = box.handle(CallRequest(benchmark="acebench", tool=tool, arguments=arguments))
    return result.content if result.is_error else result.body


def text(box: Sandbox, tool: str, **arguments: Json) -> str:
    """The message of a tool's result."""
    message: str = ask(box, tool, **arguments)["message"]
    return message

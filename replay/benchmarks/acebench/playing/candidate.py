"""The candidate as one episode sees it: a request in, its text out.

Owns what an incomplete completion means. Upstream takes a cut text as it is; so do compat rules. A refused or
failed completion without a text ends the episode under either rules, for there is nothing to go on from.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from replay.benchmarks.acebench.playing.options import PlayOptions
from replay.benchmarks.acebench.playing.prompts import Opening
from replay.core.protocols import Answer, Ask, ask, note
from replay.core.types import ChatRequest, Role

__all__ = ["Candidate", "SilentError"]

_THOUGHT_END: Final = "</think>"
_COMPLETE: Final = ("stop", "tool_calls")


class SilentError(Exception):
    """The candidate gave nothing to go on from; carries how the episode stops."""

    def __init__(self, stop: str, text: str | None = None) -> None:
        """Keep the named stop and what was said before it."""
        super().__init__(stop)
        self.stop = stop
        self.text = text


class Candidate:
    """Asks the model under evaluation."""

    def __init__(self, options: PlayOptions, *, max_tokens: int, strict: bool) -> None:
        """Fix what every request of the episode shares."""
        self._options = options
        self._sampling = options.sampling(max_tokens)
        self._strict = strict

    def say(self, opening: Opening) -> Generator[Ask, Answer, str]:
        """Ask for one text.

        Errors:  SilentError when there is none; under strict rules also when it was cut.
        """
        messages, prompt_digest = opening
        completion = yield from ask(
            ChatRequest(
                role=Role.CANDIDATE,
                messages=messages,
                sampling=self._sampling,
                prompt_digest=prompt_digest,
            )
        )
        if completion.finish not in _COMPLETE:
            yield from note("incomplete-completion", {"finish": completion.finish})
            if completion.finish == "length":
                if self._strict:
                    raise SilentError("truncated", completion.content)
            elif completion.content is None or self._strict:
                raise SilentError("refused", completion.content)
        text = completion.content or ""
        return text.rpartition(_THOUGHT_END)[2].strip() if self._options.after_think else text

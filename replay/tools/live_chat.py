"""The wire of remote chat models: one POST, and which statuses are answers."""

from __future__ import annotations

from replay.tools.asking import Asker, LiveFailureError, LiveRequest

__all__ = ["LiveChatWire"]

_PATH = "/chat/completions"


class LiveChatWire:
    """Carries chat requests to an OpenAI-compatible upstream. Safe to share between threads."""

    def __init__(self, asker: Asker) -> None:
        """Ask through this client."""
        self._asker = asker
        self.is_streamed = asker.upstream.stream

    def post(self, body: bytes) -> bytes:
        """Return the body of a whole answer, secrets masked.

        Errors:  LiveFailureError; kind `refused` for a request that the upstream does not take.
        """
        headers = (("content-type", "application/json"),)
        name = self._asker.upstream.name
        asked = LiveRequest(method="POST", path=_PATH, headers=headers, body=body)
        answer = self._asker.send(asked)
        masked = self._asker.secrets.mask_answer(answer)
        if answer.status in {401, 403}:
            raise LiveFailureError("unauthorized", f"status {answer.status}", name)
        if answer.status != 200:
            said = masked.body.decode("utf-8", "replace")[:200]
            raise LiveFailureError("refused", f"status {answer.status}: {said}", name)
        return masked.body

"""What a live API says, in the form that this benchmark's calls are answered in.

Source:  what upstream takes for an answer of its real proxy (server/utils.py at aa4ed9f, check_result): the
         API's own body under `response`, `error` empty. A status of 400 or more has a body like any other; a
         call that failed has its reason under `error`. What comes in this form already stays as it is.
"""

from __future__ import annotations

import json

from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError

__all__ = ["LiveAnswers"]


class LiveAnswers:
    """Writes answers and failures of live APIs as `{"error", "response"}`."""

    def answer(self, text: str) -> str:
        """Write what an API said; a JSON body keeps its own spelling."""
        try:
            body = parse_json(text)
        except CanonicalError:
            return f'{{"error": "", "response": {json.dumps(text, ensure_ascii=False)}}}'
        if isinstance(body, dict) and {"error", "response"} <= body.keys():
            return text
        return f'{{"error": "", "response": {text.strip()}}}'

    def failure(self, why: str) -> str:
        """Write why there is no answer."""
        return json.dumps({"error": why, "response": ""}, ensure_ascii=False)

"""Exit codes of commands that end without an error, as of the errors that say the same."""

from __future__ import annotations

from typing import Final

from replay.core.errors import CheckFailedError, MissError, UpstreamError

__all__ = ["CHECK_EXIT", "MISS_EXIT", "UPSTREAM_EXIT"]

CHECK_EXIT: Final = CheckFailedError.exit_code
"""Done, but something differs, or nothing was recorded, compared or scored."""

MISS_EXIT: Final = MissError.exit_code
"""Something that was asked for is not recorded."""

UPSTREAM_EXIT: Final = UpstreamError.exit_code
"""A live upstream gave no answer."""

"""The vocabulary of a loaded model: tokens, their bytes, and which of them mean something special."""

from __future__ import annotations

import ctypes
from typing import Any, Final

from replay.core.errors import ModelError

__all__ = ["Vocabulary"]

_ATTRIBUTE_CONTROL: Final = 1 << 3
_ATTRIBUTE_UNKNOWN: Final = 1 << 0

_PIECE_BYTES: Final = 256
"""First buffer for a token's text; longer ones are asked for again with the size the library names."""

_NOTHING_ADDED: Final = False  # begin and end tokens are put by the caller, where they can be seen


class Vocabulary:
    """Functions of the C library on one vocabulary; `binding.Library` makes it."""

    def __init__(self, module: Any, handle: int) -> None:
        """Hold the address of a vocabulary, which lives as long as its model."""
        self._c = module
        self.handle = handle

    def size(self) -> int:
        """Count the tokens."""
        return int(self._c.llama_vocab_n_tokens(self.handle))

    def is_usable(self) -> bool:
        """Tell whether the file brought a tokenizer; without one the library must not be asked for tokens."""
        return bool(self._c.llama_vocab_type(self.handle)) and self.size() > 0

    def end_tokens(self) -> frozenset[int]:
        """List the tokens that end a generation."""
        ends = self._c.llama_vocab_is_eog
        return frozenset(token for token in range(self.size()) if ends(self.handle, token))

    def is_control(self, token: int) -> bool:
        """Tell whether a token is a control token, which has no text."""
        return bool(self._c.llama_vocab_get_attr(self.handle, token) & _ATTRIBUTE_CONTROL)

    def control_texts(self) -> tuple[str, ...]:
        """List the spellings that the tokenizer reads as one token only when asked to (`special`)."""
        attributes, handle = self._c.llama_vocab_get_attr, self.handle
        asked_for = _ATTRIBUTE_CONTROL | _ATTRIBUTE_UNKNOWN
        tokens = (token for token in range(self.size()) if attributes(handle, token) & asked_for)
        texts = (self.piece(token, special=True).decode("utf-8", "replace") for token in tokens)
        return tuple(text for text in texts if text)

    def adds_bos(self) -> bool:
        """Tell whether the model wants a begin token before a text."""
        return bool(self._c.llama_vocab_get_add_bos(self.handle))

    def bos(self) -> int:
        """Get the begin token, or a negative number."""
        return int(self._c.llama_vocab_bos(self.handle))

    def tokenize(self, text: bytes, *, special: bool) -> list[int]:
        """Split text into tokens, nothing added before or after it.

        Errors:  ModelError when the library refuses.
        """
        room = len(text) + 16  # a token holds at least a byte, but for a prefix space
        buffer = (ctypes.c_int32 * room)()
        count = self._c.llama_tokenize(self.handle, text, len(text), buffer, room, _NOTHING_ADDED, special)
        if count < -room:
            buffer = (ctypes.c_int32 * -count)()
            count = self._c.llama_tokenize(
                self.handle, text, len(text), buffer, -count, _NOTHING_ADDED, special
            )
        if count < 0:
            raise ModelError(f"a text of {len(text)} bytes cannot be tokenized (code {count})")
        return list(buffer[:count])

    def piece(self, token: int, *, special: bool) -> bytes:
        """Get the bytes of one token; control tokens have some only when `special`."""
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        size = self._c.llama_token_to_piece(self.handle, token, buffer, _PIECE_BYTES, 0, special)
        if size < 0:
            buffer = ctypes.create_string_buffer(-size)
            size = self._c.llama_token_to_piece(self.handle, token, buffer, -size, 0, special)
        if size < 0:
            raise ModelError(f"token {token} has no text (code {size})")
        return buffer.raw[:size]

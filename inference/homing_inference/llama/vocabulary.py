"""Text to tokens and back, by a model's own vocabulary."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import TYPE_CHECKING, Final

from homing_core.errors import InternalError

from homing_inference.llama.token_pieces import TokenPieces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_UNKNOWN: Final = 1 << 0
_CONTROL: Final = 1 << 3
_USER_DEFINED: Final = 1 << 4
_PIECE_BYTES: Final = 256
_NO_TOKEN: Final = -1
_ADD_SPECIAL: Final = False
_SHOW_CONTROL: Final = True


class Vocabulary:
    """A model's tokens. Safe to use from any thread.

    Args:
        library: the bindings.
        handle: `llama_vocab *` of a model that outlives this.
    """

    def __init__(self, library: ModuleType, handle: object) -> None:
        """Ask once for what does not change."""
        self._library = library
        self._handle = handle
        self.size: Final[int] = library.llama_vocab_n_tokens(handle)
        bos: int = library.llama_vocab_bos(handle)
        eos: int = library.llama_vocab_eos(handle)
        self.leading_token: Final[int | None] = (
            bos if bos != _NO_TOKEN and library.llama_vocab_get_add_bos(handle) else None
        )
        self.bos_text: Final[str] = "" if bos == _NO_TOKEN else self._text(bos)
        self.eos_text: Final[str] = "" if eos == _NO_TOKEN else self._text(eos)

    def tokenize(self, text: str, *, parse_special: bool = True) -> list[int]:
        """`text` as tokens, nothing added in front or behind.

        Args:
            text: any text; what UTF-8 has no form for becomes a question mark.
            parse_special: read the texts of control tokens as those tokens.
        """
        raw = text.encode("utf-8", "replace")
        room = len(raw) + 16
        for _ in range(2):
            tokens = (self._library.llama_token * room)()
            count: int = self._library.llama_tokenize(
                self._handle, raw, len(raw), tokens, room, _ADD_SPECIAL, parse_special
            )
            if count >= 0:
                return [int(token) for token in tokens[:count]]
            room = -count
        msg = "the model's vocabulary cannot read the prompt"
        raise InternalError(msg, "The model file may be damaged; fetch it again.")

    def piece(self, token: int) -> bytes:
        """A token's UTF-8 bytes, which may be part of a character; control tokens are shown."""
        return self.pieces[token]

    @cached_property
    def pieces(self) -> TokenPieces:
        """Every token's bytes, as `piece` gives them; reading 150,000 tokens takes 0.2 s."""
        return TokenPieces(map(self._read_piece, range(self.size)))

    def _read_piece(self, token: int) -> bytes:
        room = _PIECE_BYTES
        for _ in range(2):
            buffer = ctypes.create_string_buffer(room)
            count: int = self._library.llama_token_to_piece(
                self._handle, token, buffer, room, 0, _SHOW_CONTROL
            )
            if count >= 0:
                return bytes(buffer.raw[:count])
            room = -count
        return b""

    def ends_turn(self, token: int) -> bool:
        """Whether the model says with it that its turn is over."""
        return bool(self._library.llama_vocab_is_eog(self._handle, token))

    def is_control(self, token: int) -> bool:
        """Whether it structures the conversation instead of writing text."""
        return bool(self._library.llama_vocab_get_attr(self._handle, token) & _CONTROL)

    @property
    def native(self) -> tuple[ModuleType, object]:
        """The bindings and the `llama_vocab *`, for what else llama.cpp does with a vocabulary."""
        return self._library, self._handle

    def control_texts(self, template: str) -> tuple[str, ...]:
        """Texts that the tokenizer reads as one token with a meaning for the conversation.

        These are all control tokens, and of the further added tokens those that the chat template
        writes (such as `<tool_call>`). Others, such as runs of blanks, structure nothing.

        Args:
            template: the model's chat template.
        """
        return tuple(self._control_texts(template))

    def _control_texts(self, template: str) -> Iterator[str]:
        attribute_of = self._library.llama_vocab_get_attr
        for token in range(self.size):
            attributes: int = attribute_of(self._handle, token)
            if not attributes & (_CONTROL | _UNKNOWN | _USER_DEFINED):
                continue
            text = self._text(token)
            structural = bool(attributes & (_CONTROL | _UNKNOWN)) or (
                not text.isspace() and text in template
            )
            if len(text) > 1 and structural:
                yield text

    def _text(self, token: int) -> str:
        text: bytes | None = self._library.llama_vocab_get_text(self._handle, token)
        return (text or b"").decode("utf-8", "replace")

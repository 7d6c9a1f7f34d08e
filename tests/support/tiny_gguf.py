"""Random tiny models that llama.cpp really runs, equal for equal seeds, so that fast tests need no download.

Two layers, width 256 (a K-quant block), a vocabulary of control, byte and a few hundred word tokens for the
SentencePiece tokenizer. Weights are random bits put into valid blocks of each type; what such a model says is
noise, but noise of the same arithmetic as a real model's.
"""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.support.gguf_bytes import Entry, Tensor, write_gguf

__all__ = [
    "KINDS",
    "VOCABULARY",
    "write_doubled_word",
    "write_tiny_embedder",
    "write_tiny_llama",
    "write_tiny_mamba",
    "write_tiny_sliding",
    "write_vocabulary_only",
]

WIDTH: Final = 256
HEADS: Final = 4
KV_HEADS: Final = 2
LAYERS: Final = 2
HEAD: Final = WIDTH // HEADS

_F32 = 0


def _halves(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}e", *values)


def _f32(noise: random.Random, count: int) -> bytes:
    """Random signs and mantissas, sizes from 1/32 to 1/8."""
    return _masked(noise.randbytes(4 * count), "ffffff80", "0000003d")


def _f16(noise: random.Random, count: int) -> bytes:
    return _masked(noise.randbytes(2 * count), "ff87", "0028")


def _bf16(noise: random.Random, count: int) -> bytes:
    """The upper halves of such floats."""
    return _masked(noise.randbytes(2 * count), "ff80", "003d")


def _masked(data: bytes, keep: str, put: str) -> bytes:
    """Keep some bits of each word and set others, in one big-number operation."""
    repeats = len(data) // (len(keep) // 2)
    bits = int.from_bytes(data, "big") & int(keep * repeats, 16) | int(put * repeats, 16)
    return bits.to_bytes(len(data), "big")


def _blocks(size: int, make: Callable[[random.Random], bytes]) -> Callable[[random.Random, int], bytes]:
    return lambda noise, count: b"".join(make(noise) for _ in range(count // size))


def _scaled(size: int, scale: float, count: int) -> Callable[[random.Random, int], bytes]:
    """Blocks of one scale and then `count` random bytes."""
    return _blocks(size, lambda noise: _halves(scale) + noise.randbytes(count))


def _split_scale(noise: random.Random) -> bytes:
    """Four words whose highest four bits together are the half 0.005."""
    bits = int.from_bytes(_halves(0.005), "little")
    words = [noise.getrandbits(12) | (bits >> 4 * place & 15) << 12 for place in range(4)]
    return struct.pack("<4H", *words)


KINDS: Final[dict[str, tuple[int, Callable[[random.Random, int], bytes]]]] = {
    "F32": (0, _f32),
    "F16": (1, _f16),
    "Q4_0": (2, _scaled(32, 0.01, 16)),
    "Q4_1": (3, _blocks(32, lambda noise: _halves(0.01, -0.075) + noise.randbytes(16))),
    "Q5_0": (6, _scaled(32, 0.005, 20)),
    "Q5_1": (7, _blocks(32, lambda noise: _halves(0.005, -0.075) + noise.randbytes(20))),
    "Q8_0": (8, _scaled(32, 0.0007, 32)),
    "Q2_K": (10, _blocks(256, lambda noise: noise.randbytes(80) + _halves(0.006, 0.009))),
    "Q3_K": (11, _blocks(256, lambda noise: noise.randbytes(108) + _halves(0.0015))),
    "Q4_K": (12, _blocks(256, lambda noise: _halves(0.0003, 0.00225) + noise.randbytes(140))),
    "Q5_K": (13, _blocks(256, lambda noise: _halves(0.00015, 0.00225) + noise.randbytes(172))),
    "Q6_K": (14, _blocks(256, lambda noise: noise.randbytes(208) + _halves(0.00004))),
    "IQ2_XXS": (16, _scaled(256, 0.0005, 64)),
    "IQ2_XS": (17, _scaled(256, 0.0005, 72)),
    "IQ3_XXS": (18, _scaled(256, 0.0003, 96)),
    "IQ1_S": (19, _scaled(256, 0.005, 48)),
    "IQ4_NL": (20, _scaled(32, 0.0007, 16)),
    "IQ3_S": (21, _scaled(256, 0.0002, 108)),
    "IQ2_S": (22, _scaled(256, 0.0005, 80)),
    "IQ4_XS": (23, _scaled(256, 0.00003, 134)),
    "IQ1_M": (29, _blocks(256, lambda noise: noise.randbytes(48) + _split_scale(noise))),
    "BF16": (30, _bf16),
    "TQ1_0": (34, _blocks(256, lambda noise: noise.randbytes(52) + _halves(0.07))),
    "TQ2_0": (35, _blocks(256, lambda noise: noise.randbytes(64) + _halves(0.07))),
    "MXFP4": (39, _blocks(32, lambda noise: b"\x7a" + noise.randbytes(16))),
    "NVFP4": (40, _blocks(64, lambda noise: b"\x08" * 4 + noise.randbytes(32))),
    "Q1_0": (41, _scaled(128, 0.07, 16)),
    "Q2_0": (42, _scaled(64, 0.05, 16)),
}
"""Type name to its number in the file and a maker of that many random weights."""


def _words() -> list[str]:
    """Words of the test vocabulary, the shorter ones first: letters, pairs, and spaces before them."""
    letters = "etaoinshrdlu"
    pairs = ["".join(pair) for pair in itertools.product(letters, "eaoin")]
    marks = [*list('▁.,:{}[]"0123456789'), "▁the", "▁a", "▁of", "▁to"]
    spaced = [f"▁{part}" for part in (*letters, *pairs)]
    return list(dict.fromkeys([*letters, *marks, *pairs, *spaced]))  # the library ends on a word given twice


VOCABULARY: Final = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *_words()]
_TOKEN_KINDS: Final = [2, 3, 3, *[6] * 256, *[1] * len(_words())]
_SCORES: Final = [0.0] * 259 + [float(-place) for place in range(len(_words()))]


def write_tiny_llama(path: Path, kind: str = "Q8_0", *, seed: int = 1, template: str = "") -> Path:
    """Write a transformer of the llama kind with all matrices of one type, and a chat template if asked."""
    noise = random.Random(f"{seed} {kind}")  # noqa: S311  weights of a test model
    tensors = [_matrix(noise, kind, "token_embd.weight", WIDTH, len(VOCABULARY))]
    for layer in range(LAYERS):
        tensors += _layer(noise, kind, f"blk.{layer}.")
    tensors.append(_norm(noise, "output_norm.weight", WIDTH))
    more = [Entry("tokenizer.chat_template", "string", template)] if template else []
    return write_gguf(path, [*_metadata("llama"), *more], tensors)


def write_tiny_sliding(path: Path, kind: str = "Q4_K", *, seed: int = 1, window: int = 32) -> Path:
    """Write a model of the gemma3 kind: every second layer sees only the last `window` tokens."""
    noise = random.Random(f"{seed} {kind} sliding")  # noqa: S311  weights of a test model
    tensors = [_matrix(noise, kind, "token_embd.weight", WIDTH, len(VOCABULARY))]
    for layer in range(LAYERS):
        name = f"blk.{layer}."
        tensors += _layer(noise, kind, name)
        tensors += [_norm(noise, f"{name}{part}_norm.weight", HEAD) for part in ("attn_q", "attn_k")]
        tensors += [_norm(noise, f"{name}post_{part}_norm.weight", WIDTH) for part in ("attention", "ffw")]
    tensors.append(_norm(noise, "output_norm.weight", WIDTH))
    more = (
        Entry("gemma3.attention.sliding_window", "u32", window),
        Entry("gemma3.attention.sliding_window_pattern", "u32", 2),
    )
    return write_gguf(path, (*_metadata("gemma3"), *more), tensors)


def write_tiny_mamba(path: Path, *, seed: int = 1) -> Path:
    """Write a recurrent model: its state cannot go back to an earlier token."""
    noise = random.Random(f"{seed} mamba")  # noqa: S311  weights of a test model
    inner, state, rank, kernel = 2 * WIDTH, 16, 16, 4
    tensors = [_matrix(noise, "F32", "token_embd.weight", WIDTH, len(VOCABULARY))]
    for layer in range(LAYERS):
        name = f"blk.{layer}."
        shapes = {
            "ssm_in.weight": (WIDTH, 2 * inner),
            "ssm_conv1d.weight": (kernel, inner),
            "ssm_x.weight": (inner, rank + 2 * state),
            "ssm_dt.weight": (rank, inner),
            "ssm_out.weight": (inner, WIDTH),
        }
        tensors.append(_norm(noise, f"{name}attn_norm.weight", WIDTH))
        tensors += [_matrix(noise, "F32", name + part, *shape) for part, shape in shapes.items()]
        tensors += [
            _vector(noise, f"{name}{part}", inner) for part in ("ssm_conv1d.bias", "ssm_dt.bias", "ssm_d")
        ]
        decay = struct.pack("<f", -0.5) * (state * inner)
        tensors.append(Tensor(f"{name}ssm_a", _F32, (state, inner), decay))
    tensors.append(_norm(noise, "output_norm.weight", WIDTH))
    more = [
        Entry(f"mamba.ssm.{part}", "u32", value)
        for part, value in (
            ("conv_kernel", kernel),
            ("inner_size", inner),
            ("state_size", state),
            ("time_step_rank", rank),
        )
    ]
    return write_gguf(path, (*_metadata("mamba"), *more), tensors)


def write_tiny_embedder(path: Path, *, seed: int = 1) -> Path:
    """Write a llama that was made to give embeddings: its file asks for their mean."""
    noise = random.Random(f"{seed} embedder")  # noqa: S311  weights of a test model
    tensors = [_matrix(noise, "Q8_0", "token_embd.weight", WIDTH, len(VOCABULARY))]
    for layer in range(LAYERS):
        tensors += _layer(noise, "Q8_0", f"blk.{layer}.")
    tensors.append(_norm(noise, "output_norm.weight", WIDTH))
    return write_gguf(path, (*_metadata("llama"), Entry("llama.pooling_type", "u32", 1)), tensors)


def write_doubled_word(path: Path) -> Path:
    """Write a file on which the library ends its process: one word of its vocabulary comes twice."""
    words = [*VOCABULARY[:-1], VOCABULARY[-2]]
    metadata = [
        Entry(*entry[:2], words) if entry.key.endswith(".tokens") else entry for entry in _metadata("llama")
    ]
    return write_gguf(path, metadata, [_norm(random.Random(1), "output_norm.weight", WIDTH)])  # noqa: S311


def write_vocabulary_only(path: Path) -> Path:
    """Write a file with a tokenizer and no weights."""
    return write_gguf(path, _metadata("llama"), ())


def _layer(noise: random.Random, kind: str, name: str) -> list[Tensor]:
    shapes = {
        "attn_q.weight": (WIDTH, WIDTH),
        "attn_k.weight": (WIDTH, HEAD * KV_HEADS),
        "attn_v.weight": (WIDTH, HEAD * KV_HEADS),
        "attn_output.weight": (WIDTH, WIDTH),
        "ffn_gate.weight": (WIDTH, WIDTH),
        "ffn_up.weight": (WIDTH, WIDTH),
        "ffn_down.weight": (WIDTH, WIDTH),
    }
    return [
        _norm(noise, f"{name}attn_norm.weight", WIDTH),
        _norm(noise, f"{name}ffn_norm.weight", WIDTH),
        *(_matrix(noise, kind, name + part, *shape) for part, shape in shapes.items()),
    ]


def _matrix(noise: random.Random, kind: str, name: str, columns: int, rows: int) -> Tensor:
    number, make = KINDS[kind]
    return Tensor(name, number, (columns, rows), make(noise, columns * rows))


def _vector(noise: random.Random, name: str, size: int) -> Tensor:
    return Tensor(name, _F32, (size,), _f32(noise, size))


def _norm(noise: random.Random, name: str, size: int) -> Tensor:
    values: Sequence[float] = [1 + noise.randrange(-8, 9) / 64 for _ in range(size)]
    return Tensor(name, _F32, (size,), struct.pack(f"<{size}f", *values))


def _metadata(kind: str) -> tuple[Entry, ...]:
    return (
        Entry("general.architecture", "string", kind),
        Entry("general.name", "string", f"Tiny {kind}"),
        Entry(f"{kind}.context_length", "u32", 4096),
        Entry(f"{kind}.embedding_length", "u32", WIDTH),
        Entry(f"{kind}.block_count", "u32", LAYERS),
        Entry(f"{kind}.feed_forward_length", "u32", 0 if kind == "mamba" else WIDTH),
        Entry(f"{kind}.attention.head_count", "u32", 0 if kind == "mamba" else HEADS),
        Entry(f"{kind}.attention.head_count_kv", "u32", 0 if kind == "mamba" else KV_HEADS),
        Entry(f"{kind}.attention.key_length", "u32", HEAD),
        Entry(f"{kind}.attention.value_length", "u32", HEAD),
        Entry(f"{kind}.attention.layer_norm_rms_epsilon", "f32", 1e-5),
        Entry("tokenizer.ggml.model", "string", "llama"),
        Entry("tokenizer.ggml.tokens", "[string]", VOCABULARY),
        Entry("tokenizer.ggml.scores", "[f32]", _SCORES),
        Entry("tokenizer.ggml.token_type", "[i32]", _TOKEN_KINDS),
        Entry("tokenizer.ggml.bos_token_id", "u32", 1),
        Entry("tokenizer.ggml.eos_token_id", "u32", 2),
        Entry("tokenizer.ggml.add_bos_token", "bool", True),
        Entry("tokenizer.ggml.add_space_prefix", "bool", False),
    )

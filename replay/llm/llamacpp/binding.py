"""The only file that imports llama_cpp: typed, thin functions over the C library, every return code checked.

Loading pins the environment the kernels read (see `models/README.md`), and replaces the library's log
callback, so that C code never writes to a terminal; the last warnings of a thread are kept for error texts.
There is one C library in a process, hence one `Library`. Handles are addresses; their owners free them.
Structures are filled by field name, so that another version of the package is refused, not misread.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NewType

from replay.core.determinism import pin_environment
from replay.core.errors import InternalError, MissingExtraError, ModelError
from replay.llm.llamacpp.batch import Batch
from replay.llm.llamacpp.log import LibraryLog
from replay.llm.llamacpp.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "ContextHandle",
    "ContextShape",
    "GrammarHandle",
    "Library",
    "ModelHandle",
    "load_library",
]

ModelHandle = NewType("ModelHandle", int)
ContextHandle = NewType("ContextHandle", int)
GrammarHandle = NewType("GrammarHandle", int)

_INSTALL: Final = "pip install 'replay-bench[model]' (make llama builds the pinned library)"

_ENVIRONMENT: Final = {
    "GGML_CPU_TILED_MM": "0",  # tiled K-quant kernels start at 8 rows: results would depend on the batch
    "GGML_NO_BACKTRACE": "1",  # a failed assertion of the library must not start a debugger
}
_FOREIGN: Final = ("GGML_", "LLAMA_")
"""Variables of the library that change kernels, load further backends or print; none comes from outside."""

_ATTENTION_CAUSAL: Final = 0
_POOLING_NONE: Final = 0
_FLASH_ATTENTION_OFF: Final = 0
_LOAD_MMAP: Final = 1
_LAZY_OFF: Final = 0
_SPLIT_NONE: Final = 0


class ContextShape:
    """What a context is made for."""

    def __init__(self, *, context_tokens: int, sequences: int, threads: int, batch_tokens: int) -> None:
        self.context_tokens = context_tokens
        self.sequences = sequences
        self.threads = threads
        self.batch_tokens = batch_tokens


@functools.cache
def load_library() -> Library:
    """Load the C library once, with its environment pinned and its log captured.

    Errors:  MissingExtraError when the package is not installed; ModelError when it is but cannot be used.
    """
    pin_environment(_FOREIGN, _ENVIRONMENT)
    try:
        import llama_cpp  # noqa: PLC0415  heavy, and only there with the extra
        import numpy  # noqa: ICN001, PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the package {error.name} is not installed", expected="the extra `model`", next_step=_INSTALL
        ) from None
    except (ImportError, OSError, RuntimeError) as error:
        raise ModelError(
            f"the llama.cpp library cannot be loaded: {error}", next_step="make llama builds it anew"
        ) from None
    return Library(llama_cpp, numpy)


class Library:
    """The functions this program uses. Get it from `load_library`."""

    def __init__(self, module: Any, numpy: Any) -> None:
        """Take the log and start the backend."""
        self._c = module
        self._np = numpy
        self._log = LibraryLog()
        self._callback = module.llama_log_callback(self._log.write)  # C keeps its address: it must live on
        module.llama_log_set(self._callback, ctypes.c_void_p(0))
        module.llama_backend_init()

    # ---- the library itself ----------------------------------------------------------------------------

    def version(self) -> str:
        """Version of the Python package, which pins that of llama.cpp."""
        return str(self._c.__version__)

    def engine_version(self) -> str:
        """Version that the compiled library gives itself."""
        return str(self._c.llama_version().decode("utf-8", "replace"))

    def system_info(self) -> str:
        """Name the instruction sets and kernels the library was compiled with, as it lists them itself."""
        return str(self._c.llama_print_system_info().decode("utf-8", "replace")).strip()

    # ---- models ----------------------------------------------------------------------------------------

    def load_model(self, path: Path) -> ModelHandle:
        """Map a GGUF file into memory, on the processor, weights as they lie in the file.

        Errors:  ModelError with the library's own reason.
        """
        parameters = self._fill(
            self._c.llama_model_default_params(),
            n_gpu_layers=0,
            split_mode=_SPLIT_NONE,
            load_mode=_LOAD_MMAP,
            lazy_mode=_LAZY_OFF,
            vocab_only=False,
            use_extra_bufts=False,  # repacked weights have kernels of their own that switch on the batch size
        )
        self._log.clear()
        handle = self._c.llama_model_load_from_file(str(path).encode(), parameters)
        if not handle:
            raise ModelError(
                f"{path.name} cannot be loaded: {self._log.reason()}",
                where=str(path),
                expected="a complete GGUF file of a model that generates text",
            )
        return ModelHandle(handle)

    def free_model(self, model: ModelHandle) -> None:
        """Give a model back; its contexts must be gone."""
        self._c.llama_model_free(model)

    def model_facts(self, model: ModelHandle) -> dict[str, bool | int | str]:
        """Tell what kind of model this is, as the library sees it."""
        c = self._c
        buffer = ctypes.create_string_buffer(256)
        c.llama_model_desc(model, buffer, len(buffer))
        return {
            "description": buffer.value.decode("utf-8", "replace"),
            "has_encoder": bool(c.llama_model_has_encoder(model)),
            "has_decoder": bool(c.llama_model_has_decoder(model)),
            "is_recurrent": bool(c.llama_model_is_recurrent(model)),
            "is_hybrid": bool(c.llama_model_is_hybrid(model)),
            "is_diffusion": bool(c.llama_model_is_diffusion(model)),
            "layers": int(c.llama_model_n_layer(model)),
            "trained_context_tokens": int(c.llama_model_n_ctx_train(model)),
            "sliding_window_tokens": int(c.llama_model_n_swa(model)),
        }

    def model_metadata(self, model: ModelHandle) -> dict[str, str]:
        """Read every scalar of the file's metadata as the library spells it, sorted by name."""
        count = self._c.llama_model_meta_count(model)
        by_index = (self._c.llama_model_meta_key_by_index, self._c.llama_model_meta_val_str_by_index)
        pairs = [[self._text_at(read, model, index) for read in by_index] for index in range(count)]
        return dict(sorted(pairs))

    def _text_at(self, read: Any, model: ModelHandle, index: int) -> str:
        size = 1 << 10
        while True:
            buffer = ctypes.create_string_buffer(size)
            needed = read(model, index, buffer, size)
            if needed < size:
                return buffer.raw[: max(needed, 0)].decode("utf-8", "replace")
            size = needed + 1

    def vocabulary(self, model: ModelHandle) -> Vocabulary:
        """Get the vocabulary of a model; it lives as long as the model."""
        return Vocabulary(self._c, self._c.llama_model_get_vocab(model))

    # ---- contexts --------------------------------------------------------------------------------------

    def new_context(self, model: ModelHandle, shape: ContextShape) -> ContextHandle:
        """Make a context whose sequences never meet: own KV cache each, no flash attention, no offloading.

        Errors:  ModelError with the library's own reason, usually too little memory.
        """
        sequences = shape.sequences
        parameters = self._fill(
            self._c.llama_context_default_params(),
            n_ctx=shape.context_tokens * sequences,
            n_batch=shape.batch_tokens,
            n_ubatch=shape.batch_tokens,
            n_seq_max=sequences,
            n_outputs_max=max(sequences, 1),
            n_threads=shape.threads,
            n_threads_batch=shape.threads,
            flash_attn_type=_FLASH_ATTENTION_OFF,
            embeddings=False,
            offload_kqv=False,
            no_perf=True,
            op_offload=False,
            swa_full=True,
            kv_unified=False,
        )
        self._log.clear()
        handle = self._c.llama_init_from_model(model, parameters)
        if not handle:
            raise ModelError(
                f"no context of {sequences} x {shape.context_tokens} tokens: {self._log.reason()}",
                next_step="fewer sequences or a smaller context need less memory",
            )
        return ContextHandle(handle)

    def free_context(self, context: ContextHandle) -> None:
        """Give a context back."""
        self._c.llama_free(context)

    def set_threads(self, context: ContextHandle, threads: int) -> None:
        """Compute with so many threads from the next call on, one token and many alike."""
        self._c.llama_set_n_threads(context, threads, threads)

    def context_tokens(self, context: ContextHandle) -> int:
        """Count the tokens one sequence of a context can hold."""
        return int(self._c.llama_n_ctx_seq(context))

    def generates_text(self, context: ContextHandle) -> bool:
        """Tell whether a context keeps a memory, is causal and does not pool its output into embeddings."""
        c = self._c
        return bool(
            c.llama_get_memory(context)
            and c.llama_pooling_type(context) == _POOLING_NONE
            and c.llama_get_causal_attn(context)
        )

    def decode(self, context: ContextHandle, batch: Batch, *, columns: int) -> npt.NDArray[np.float32]:
        """Evaluate a batch and return the logits rows that it asks for, in its order.

        Shape:   rows wanted by the batch x `columns`; a view of the library's memory until the next decode.
        Errors:  ModelError naming the library's code.
        """
        self._log.clear()
        code = self._c.llama_decode(context, batch.structure)
        if code != 0:
            raise ModelError(
                f"the library failed to evaluate {batch.tokens} tokens (code {code}): {self._log.reason()}"
            )
        rows = batch.rows
        if rows == 0:
            empty: npt.NDArray[np.float32] = self._np.empty((0, columns), dtype=self._np.float32)
            return empty
        address = ctypes.cast(self._c.llama_get_logits(context), ctypes.c_void_p).value
        if address is None:
            raise ModelError(f"the library gave no logits for {batch.tokens} tokens")
        memory = (ctypes.c_float * (rows * columns)).from_address(address)
        flat: npt.NDArray[np.float32] = self._np.frombuffer(memory, dtype=self._np.float32)
        return flat.reshape(rows, columns)

    def remove_tail(self, context: ContextHandle, sequence: int, start: int) -> bool:
        """Forget the positions of a sequence from `start` on; False when this kind of memory cannot."""
        memory = self._c.llama_get_memory(context)
        return bool(self._c.llama_memory_seq_rm(memory, sequence, start, -1))

    def copy_sequence(self, context: ContextHandle, source: int, target: int) -> None:
        """Make `target` a copy of everything `source` holds; bytes are copied before the next decode."""
        self._c.llama_memory_seq_cp(self._c.llama_get_memory(context), source, target, -1, -1)

    def new_batch(self, capacity: int) -> Batch:
        """Make an empty batch for up to so many tokens."""
        return Batch(self._c.llama_batch, self._np, capacity)

    # ---- grammars --------------------------------------------------------------------------------------

    def new_grammar(self, vocab: Vocabulary, text: str, *, root: str) -> GrammarHandle:
        """Compile GBNF text.

        Errors:  ModelError with the library's own reason: a grammar that fails never lets text through.
        """
        if "\0" in text or "\0" in root:
            raise ModelError("a grammar with a NUL character", expected="GBNF text")
        self._log.clear()
        with self._log.capture_stderr():
            handle = self._c.llama_sampler_init_grammar(vocab.handle, text.encode(), root.encode())
        if not handle:
            raise ModelError(f"the grammar cannot be compiled: {self._log.reason()}", expected="GBNF text")
        return GrammarHandle(handle)

    def clone_grammar(self, grammar: GrammarHandle) -> GrammarHandle:
        """Copy a grammar with the state it is in."""
        handle = self._c.llama_sampler_clone(grammar)
        if not handle:
            raise InternalError("a grammar cannot be cloned")
        return GrammarHandle(handle)

    def free_grammar(self, grammar: GrammarHandle) -> None:
        """Give a grammar back."""
        self._c.llama_sampler_free(grammar)

    def accept_token(self, grammar: GrammarHandle, token: int) -> None:
        """Move a grammar on by a token it allows; with any other the library ends the process."""
        self._c.llama_sampler_accept(grammar, token)

    def new_candidates(self, count: int) -> npt.NDArray[Any]:
        """Make an array of candidate records with the ids 0, 1, 2... for `filter_candidates`."""
        kinds = self._np
        fields = [("id", kinds.int32), ("logit", kinds.float32), ("p", kinds.float32)]
        candidates: npt.NDArray[Any] = kinds.zeros(count, dtype=fields)
        candidates["id"] = kinds.arange(count)
        return candidates

    def filter_candidates(self, grammar: GrammarHandle, candidates: npt.NDArray[Any]) -> None:
        """Set the logit of each candidate that the grammar refuses to minus infinity, in place.

        Shape:   from `new_candidates`.
        """
        data = candidates.ctypes.data_as(ctypes.POINTER(self._c.llama_token_data))
        array = self._c.llama_token_data_array(data=data, size=len(candidates), selected=-1, sorted=False)
        self._c.llama_sampler_apply(grammar, ctypes.byref(array))

    # ---- private ---------------------------------------------------------------------------------------

    def _fill(self, structure: Any, **values: object) -> Any:
        known = {field[0] for field in structure._fields_}
        unknown = sorted(values.keys() - known)
        if unknown:
            raise ModelError(
                f"llama-cpp-python {self.version()} has no setting {unknown[0]!r}",
                expected="the version this program is written for",
                next_step="make llama installs it",
            )
        for name, value in values.items():
            setattr(structure, name, value)
        return structure

"""Another llama.cpp build in the environment: a package that says so of itself, over the one that is here."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DEFAULT_FEATURES", "hide_build", "write_other_build"]

DEFAULT_FEATURES = "AVX512 = 1 | LLAMAFILE = 1 | OPENMP = 1 | REPACK = 1 | "
"""What a default build of an ordinary server lists beside the pinned features."""

_PACKAGE = '''
"""llama-cpp-python as it is installed, but for what its library says it was compiled with."""
import importlib.util
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent.parent
sys.path = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != here]
shim = sys.modules.pop(__name__)
real = __import__(__name__)
_say = real.llama_print_system_info
real.llama_print_system_info = lambda: _say() + b" " + FEATURES
sys.modules[__name__] = real
'''


def write_other_build(folder: Path, features: str = DEFAULT_FEATURES) -> Path:
    """Write the package; put the folder on PYTHONPATH to have it in a process and those that it starts."""
    package = folder / "llama_cpp"
    package.mkdir(parents=True)
    text = _PACKAGE.replace("FEATURES", repr(features.encode()))
    (package / "__init__.py").write_text(text.lstrip(), "utf-8")
    return folder


def hide_build(folder: Path) -> Path:
    """Write what makes Python find no llama-cpp-python, in the same way."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text('import sys\n\nsys.modules["llama_cpp"] = None\n', "utf-8")
    return folder

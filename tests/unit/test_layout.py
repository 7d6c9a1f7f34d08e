"""The shape of the program: who may import whom, what lives in one module only, and how large things are.

Each test lists every offence it finds as `file:line what`, so that one run shows all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import pytest

from tests.support.sources import Source, area_of, module_names, read_sources

# DESIGN section 3. An area may always import itself and the top package (its version).
_EVERYTHING = frozenset(
    {"core", "store", "tools", "llm", "evaluate", "engine", "benchmarks", "report", "server", "wiring"}
)
ALLOWED: dict[str, frozenset[str]] = {
    "": frozenset({"core"}),
    "__main__": frozenset({"cli"}),
    "core": frozenset(),
    "store": frozenset({"core"}),
    "evaluate": frozenset({"core"}),
    "report": frozenset({"core"}),
    "server": frozenset({"core"}),
    "tools": frozenset({"core", "store"}),
    "llm": frozenset({"core", "store"}),
    "benchmarks": frozenset({"core", "evaluate"}),
    "engine": frozenset({"core"}),
    "wiring": _EVERYTHING,
    "testing": frozenset({"core", "tools", "wiring"}),
    "cli": frozenset({"core", "wiring"}),
}

# Modules that only one file of ours may import, and why. `socket` itself is also what the doctor tries the
# guard with; it never gets out.
_CLIENTS = "replay/tools/live.py"
_CLOCK = "replay/core/determinism.py"
# The folder that extends clients of the user's own; it sends nothing but in record mode.
_TESTING = "replay/testing/"
_EXTENDED = frozenset({"httpx", "requests", "urllib3"})
# What tries the network guard with a socket that never gets out, and the listener of a server.
_SOCKETS = frozenset({("replay/wiring/doctor.py", "socket"), ("replay/server/listening.py", "socket")})
HOMES: dict[str, tuple[str, str]] = {
    "httpx": (_CLIENTS, "the one module with network clients"),
    "requests": (_CLIENTS, "the one module with network clients"),
    "aiohttp": (_CLIENTS, "the one module with network clients"),
    "urllib3": (_CLIENTS, "the one module with network clients"),
    "urllib.request": (_CLIENTS, "the one module with network clients"),
    "http.client": (_CLIENTS, "the one module with network clients"),
    "socket": (_CLIENTS, "the one module with network clients"),
    "llama_cpp": ("replay/llm/llamacpp/binding.py", "the one module that binds the model library"),
    "time": (_CLOCK, "the only door to the clock"),
    "random": (_CLOCK, "the only door to randomness"),
    "secrets": (_CLOCK, "the only door to randomness"),
    "uuid": (_CLOCK, "the only door to randomness"),
    "pickle": ("", "no pickle anywhere"),
    "shelve": ("", "no pickle anywhere"),
    "marshal": ("", "no pickle anywhere"),
}

# Attributes that read the machine or the moment, and the file that may.
DOORS: dict[str, str] = {
    "os.environ": _CLOCK,
    "os.getenv": _CLOCK,
    "os.urandom": _CLOCK,
    "os.cpu_count": _CLOCK,
    "os.listdir": "",
    "datetime.now": _CLOCK,
    "datetime.utcnow": _CLOCK,
    "datetime.today": _CLOCK,
    "date.today": _CLOCK,
    "dt.datetime.now": _CLOCK,
    "dt.datetime.utcnow": _CLOCK,
    "dt.date.today": _CLOCK,
    "datetime.datetime.now": _CLOCK,
    "datetime.date.today": _CLOCK,
}

# The CLI boundary (a bug becomes a message) and the tool boundary (a tool's failure ends its episode only).
BOUNDARIES = frozenset({"replay/cli/main.py", "replay/engine/episode.py"})

# Built-ins whose answer does not depend on the order of what they are given.
_ORDERLESS = frozenset({"sorted", "any", "all", "len", "sum", "set", "frozenset", "min", "max"})
_LISTINGS = frozenset({"iterdir", "glob", "rglob", "scandir"})

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 50
MAX_PARAMETERS = 9


def _edges(source: Source) -> Iterator[tuple[int, str]]:
    for found in source.imports(module_names()):
        if found.module.split(".")[0] == "replay":
            yield found.line, found.module


def test_every_area_is_in_the_table() -> None:
    """A new folder or module below the top package takes a line in the table of edges."""
    assert [] == sorted({source.area for source in read_sources()} - ALLOWED.keys())


def test_imports_point_down() -> None:
    """No module imports an area that the table does not give it, TYPE_CHECKING and lazy imports included."""
    offences = [
        f"{source.path}:{line} {source.area or 'replay'} imports {module}"
        for source in read_sources()
        for line, module in _edges(source)
        if (area := area_of(module)) and area != source.area and area not in ALLOWED[source.area]
    ]
    assert [] == offences


def test_benchmarks_do_not_know_each_other() -> None:
    """A benchmark imports its own folder and what all benchmarks share, never another benchmark."""
    inside = [s for s in read_sources() if s.area == "benchmarks" and s.module.count(".") > 2]
    folders = {source.module.split(".")[2] for source in inside}
    offences = [
        f"{source.path}:{line} imports {module}"
        for source in inside
        for line, module in _edges(source)
        if module.startswith("replay.benchmarks.")
        and module.split(".")[2] in folders - {source.module.split(".")[2]}
    ]
    assert [] == offences


def test_no_import_cycle() -> None:
    """Following imports never leads back, so every module can be read and loaded from below."""
    graph = {s.module: sorted({module for _, module in _edges(s)} & module_names()) for s in read_sources()}
    done: set[str] = set()

    def walk(module: str, trail: tuple[str, ...]) -> list[str]:
        if module in trail:
            return [" -> ".join((*trail[trail.index(module) :], module))]
        if module in done:
            return []
        found = [
            cycle for other in graph[module] if other != module for cycle in walk(other, (*trail, module))
        ]
        done.add(module)
        return found

    assert [] == [cycle for module in sorted(graph) for cycle in walk(module, ())]


def test_modules_with_one_home_stay_there() -> None:
    """Network clients, llama binding, clock and randomness are imported in one file each, pickle nowhere."""
    offences = [
        f"{source.path}:{found.line} imports {name}: {why}"
        for source in read_sources()
        for found in source.imports(module_names())
        for name, (home, why) in HOMES.items()
        if (found.module == name or found.module.startswith(name + ".")) and source.path != home
        if (source.path, name) not in _SOCKETS
        if not (source.path.startswith(_TESTING) and name in _EXTENDED)
    ]
    assert [] == offences


def test_machine_and_moment_are_read_through_one_door() -> None:
    """Environment, current date and unsorted listings appear nowhere but in determinism.py."""
    offences = [
        f"{source.path}:{node.lineno} reads {name}"
        for source in read_sources()
        for node in source.nodes
        if isinstance(node, ast.Attribute)
        and (name := ast.unparse(node)) in DOORS
        and source.path != DOORS[name]
    ]
    assert [] == offences


def _listings_in_order(node: ast.AST, *, orderless: bool = False) -> Iterator[ast.Call]:
    """Yield directory listings whose order could show."""
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _LISTINGS and not orderless:
            yield node
        orderless = orderless or (isinstance(function, ast.Name) and function.id in _ORDERLESS)
    for child in ast.iter_child_nodes(node):
        yield from _listings_in_order(child, orderless=orderless and not isinstance(child, ast.stmt))


def test_directory_listings_are_sorted() -> None:
    """Files are visited in sorted order; the disk's own order never reaches a result."""
    offences = [
        f"{source.path}:{call.lineno} {ast.unparse(call)}"
        for source in read_sources()
        for call in _listings_in_order(source.tree)
    ]
    assert [] == offences


@pytest.mark.parametrize("name", ["hash", "eval", "exec", "__import__", "breakpoint", "print"])
def test_built_ins_that_are_not_used(name: str) -> None:
    """No salted hash, no evaluation of text, and output goes through the console of `cli`."""
    offences = [
        f"{source.path}:{node.lineno} {name}()"
        for source in read_sources()
        for node in source.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]
    assert [] == offences


def _catches_everything(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(
        isinstance(part, ast.Name) and part.id in {"Exception", "BaseException"}
        for part in ast.walk(handler.type)
    )


def _raises_on(handler: ast.ExceptHandler) -> bool:
    """A handler that cleans up and raises the same error on has caught nothing."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_everything_is_caught_at_the_boundaries_only() -> None:
    """`except Exception` exists where a failure becomes a line or a tool result, nowhere else."""
    offences = [
        f"{source.path}:{node.lineno} catches {ast.unparse(node.type) if node.type else 'everything'}"
        for source in read_sources()
        for node in source.nodes
        if isinstance(node, ast.ExceptHandler) and source.path not in BOUNDARIES
        if _catches_everything(node) and not _raises_on(node)
    ]
    assert [] == offences


def test_packages_hold_one_docstring() -> None:
    """`__init__.py` re-exports nothing; only the top package has public names."""
    offences = [
        source.path
        for source in read_sources()
        if source.path.endswith("/__init__.py")
        and source.area
        and not (len(source.tree.body) == 1 and ast.get_docstring(source.tree))
    ]
    assert [] == offences


def test_every_module_says_what_it_owns() -> None:
    """Each module starts with a docstring, and public ones list their names."""
    offences = [source.path for source in read_sources() if not ast.get_docstring(source.tree)]
    assert [] == offences


def test_modules_fit_in_one_head() -> None:
    """No module is longer than 400 lines."""
    offences = [
        f"{source.path} {lines}"
        for source in read_sources()
        if (lines := source.text.count("\n")) > MAX_MODULE_LINES
    ]
    assert [] == offences


def _functions(check: Callable[[ast.FunctionDef | ast.AsyncFunctionDef], int], limit: int) -> list[str]:
    return [
        f"{source.path}:{node.lineno} {node.name} {size}"
        for source in read_sources()
        for node in source.nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if (size := check(node)) > limit
    ]


def test_functions_fit_on_one_screen() -> None:
    """No function is longer than 50 lines."""
    assert [] == _functions(lambda node: (node.end_lineno or 0) - node.lineno + 1, MAX_FUNCTION_LINES)


def test_functions_take_few_parameters() -> None:
    """No function takes more than nine parameters, the facts of a finished episode; commands are free.

    A command's parameter is one option of the command line, and typer wants all of them in one signature.
    """
    assert [] == [
        offence
        for offence in _functions(
            lambda node: len(node.args.args) + len(node.args.kwonlyargs), MAX_PARAMETERS
        )
        if not offence.startswith("replay/cli/")
    ]


def test_no_machine_path_is_written_down() -> None:
    """No absolute path of somebody's machine is in the sources."""
    marks = ("/home/", "/root/", "/Users/", "C:\\\\")
    offences = [f"{source.path} {mark}" for source in read_sources() for mark in marks if mark in source.text]
    assert [] == offences

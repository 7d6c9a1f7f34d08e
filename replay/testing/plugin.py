"""The pytest plugin: `--replay-mode`, the marker and fixture `replay`, and what no test asked for.

It is loaded into every test run of whoever has this program installed, so nothing of the program is imported
before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from replay.testing.recording import Recording
    from replay.wiring.exchanges import ExchangeBook, SealedStores

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_testnodedown",
    "replay",
]

_MARKER: Final = (
    "replay(archive=None, upstream='', repeats='sticky-last', left_out=(), keep_errors=False, "
    "network='block'):"
    " answer the HTTP requests of this test from an archive, by default archives/<module>.replay beside it"
)
_FIELDS: Final = frozenset({"archive", "upstream", "repeats", "left_out", "keep_errors", "network"})
_UNUSED: Final = ("report", "fail", "ignore")
_TORN: Final = ("each", "load", "worksteal")
"""Ways of pytest-xdist to give the tests of one file to several workers."""
_SHOWN: Final = 10
_OUTPUT: Final = "replay_usage"

Usage = dict[str, dict[str, Any]]
"""Archive path -> its recorded requests by key (`all`), the keys that were answered (`used`), and requests
that a recording got only a failure for, by name, with its status (`failed`)."""


class _Shelf:
    """The archives that the tests of this process have opened."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.usage: Usage = {}
        self.faults: list[str] = []
        """What went wrong when recordings were frozen."""
        self._sealed: SealedStores | None = None
        self._opened: dict[Path, tuple[ExitStack, ExchangeBook]] = {}
        self._books: dict[tuple[object, ...], ExchangeBook] = {}

    def open(self, archive: Path, *, left_out: tuple[str, ...], keep_errors: bool) -> ExchangeBook:
        """Open an archive once, however many tests look at it, each in its own way."""
        key = (archive, left_out, keep_errors)
        if key not in self._books:
            if archive not in self._opened:
                self._opened[archive] = self._open(archive)
            book = self._opened[archive][1]
            self._books[key] = book.beside(left_out=left_out, keep_errors=keep_errors)
        return self._books[key]

    def _open(self, archive: Path) -> tuple[ExitStack, ExchangeBook]:
        from replay.wiring.exchanges import ExchangePlan, SealedStores, open_exchanges  # noqa: PLC0415
        from replay.wiring.modes import parse_mode  # noqa: PLC0415

        plan = ExchangePlan(archive=str(archive), mode=parse_mode(self.mode, option="--replay-mode"))
        if self._sealed is None:
            self._sealed = SealedStores()
        stack = ExitStack()
        return stack, stack.enter_context(open_exchanges(plan, self._sealed))

    def close(self) -> None:
        """Note what was used, then freeze what was recorded; one that fails keeps no other from it."""
        if not self._opened:
            return
        from replay.core.errors import ReplayError  # noqa: PLC0415

        for book in self._books.values():
            known, used = book.usage()
            failed = dict(book.exchanges.not_recorded)
            self.add({book.plan.archive: {"all": dict(known), "used": sorted(used), "failed": failed}})
        self._books.clear()
        for _, book in self._opened.values():
            book.release()
        for stack, _ in self._opened.values():
            try:
                stack.close()
            except ReplayError as error:
                self.faults.append(str(error))
        self._opened.clear()

    def add(self, usage: Usage) -> None:
        """Put together what several processes used of the same archives."""
        for archive, seen in usage.items():
            held = self.usage.setdefault(archive, {"all": {}, "used": [], "failed": {}})
            held["all"].update(seen["all"])
            held["failed"].update(seen["failed"])
            held["used"] = sorted({*held["used"], *seen["used"]})

    def unused(self) -> dict[str, list[str]]:
        """Name what is recorded and was not asked for, by archive."""
        return {
            archive: names
            for archive, seen in sorted(self.usage.items())
            if (names := sorted(name for key, name in seen["all"].items() if key not in set(seen["used"])))
        }


_SHELF: Final = pytest.StashKey[_Shelf]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("replay", "recorded HTTP exchanges")
    group.addoption(
        "--replay-mode",
        choices=("strict", "replay", "record"),
        default="replay",
        help="strict and replay: answer from archives only; record: ask the network for what is not recorded",
    )
    group.addoption(
        "--replay-block-network",
        action="store_true",
        help="refuse network calls in the whole session, whatever markers say",
    )
    group.addoption(
        "--replay-unused",
        choices=_UNUSED,
        default="report",
        help="what to do about recorded answers that no test asked for",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; switch the network off for the session where that was asked."""
    config.addinivalue_line("markers", _MARKER)
    config.stash[_SHELF] = _Shelf(config.getoption("--replay-mode"))
    if config.getoption("--replay-mode") == "record" and config.getoption("dist", "no") in _TORN:
        raise pytest.UsageError(
            "--replay-mode record with several workers: one of them records an archive; "
            "say --dist loadfile, which keeps the tests of a file together, or leave out -n"
        )
    if config.getoption("--replay-block-network"):
        if config.getoption("--replay-mode") == "record":
            raise pytest.UsageError(
                "--replay-mode record needs the network: leave out --replay-block-network"
            )
        from replay.core.network import NetworkGuard  # noqa: PLC0415

        guard = NetworkGuard()
        guard.__enter__()
        config.add_cleanup(lambda: guard.__exit__(None, None, None))


@pytest.fixture
def replay(request: pytest.FixtureRequest) -> Recording:
    """Give a test its recorded exchanges: `replay.transport()`, `.async_transport()`, `.adapter()`."""
    from replay.testing.recording import Recording  # noqa: PLC0415

    wanted = _wanted(request)
    shelf = request.config.stash[_SHELF]
    book = shelf.open(
        _archive(request, wanted),
        left_out=tuple(wanted.get("left_out", ())),
        keep_errors=bool(wanted.get("keep_errors", False)),
    )
    return Recording(
        book, name=request.node.name, upstream=wanted.get("upstream", ""), repeats=wanted.get("repeats", "")
    )


@pytest.fixture(autouse=True)
def _replay_guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep the network away from a test with the marker, but in record mode."""
    marker = request.node.get_closest_marker("replay")
    is_open = marker is None or request.config.getoption("--replay-mode") == "record"
    if is_open or marker.kwargs.get("network", "block") == "allow":
        yield
        return
    from replay.core.network import NetworkGuard  # noqa: PLC0415

    with NetworkGuard():
        yield


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close and freeze; a worker process hands its part to the one that reports."""
    shelf = session.config.stash[_SHELF]
    shelf.close()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_OUTPUT] = {"usage": shelf.usage, "faults": shelf.faults}
        return
    is_unused = session.config.getoption("--replay-unused") == "fail" and bool(shelf.unused())
    if (is_unused or shelf.faults) and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker process used (pytest-xdist)."""
    output = getattr(node, "workeroutput", {}).get(_OUTPUT)
    if output is not None:
        shelf = node.config.stash[_SHELF]
        shelf.add(output["usage"])
        shelf.faults += output["faults"]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name recordings that failed, what was answered and not recorded, and what no test asked for."""
    faults = config.stash[_SHELF].faults
    if faults:
        terminalreporter.section("replay: recordings that are not frozen", red=True)
        for fault in faults:
            terminalreporter.write_line(fault)
    _show_failures(terminalreporter, config.stash[_SHELF].usage)
    unused = config.stash[_SHELF].unused()
    if not unused or config.getoption("--replay-unused") == "ignore":
        return
    terminalreporter.section("replay: recorded and not asked for")
    for archive, names in unused.items():
        terminalreporter.write_line(
            f"{archive}: {len(names)} of {len(config.stash[_SHELF].usage[archive]['all'])}"
        )
        _list(terminalreporter, names)


def _show_failures(terminalreporter: Any, usage: Usage) -> None:
    """A test that was content with a failure passes while recording and misses ever after: say so at once."""
    failed = {archive: seen["failed"] for archive, seen in sorted(usage.items()) if seen["failed"]}
    if not failed:
        return
    terminalreporter.section("replay: failed and not recorded")
    for archive, statuses in failed.items():
        terminalreporter.write_line(
            f"{archive}: {len(statuses)}; keep_errors=True of the marker records them"
        )
        _list(terminalreporter, [f"{name}: {status}" for name, status in sorted(statuses.items())])


def _list(terminalreporter: Any, names: Sequence[str]) -> None:
    for name in names[:_SHOWN]:
        terminalreporter.write_line(f"  {name}")
    if len(names) > _SHOWN:
        terminalreporter.write_line(f"  and {len(names) - _SHOWN} more")


def _wanted(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    marker = request.node.get_closest_marker("replay")
    if marker is None:
        return {}
    named = dict(marker.kwargs)
    if marker.args:
        named["archive"] = marker.args[0]
    unknown = sorted(set(named) - _FIELDS)
    if unknown or len(marker.args) > 1:
        raise pytest.UsageError(
            f"@pytest.mark.replay takes {', '.join(sorted(_FIELDS))}, not {unknown or marker.args[1:]}"
        )
    return named


def _archive(request: pytest.FixtureRequest, wanted: Mapping[str, Any]) -> Path:
    folder = Path(request.path).parent
    named = wanted.get("archive")
    return folder / named if named else folder / "archives" / f"{Path(request.path).stem}.replay"

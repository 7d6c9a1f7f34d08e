"""Threads, processes, forks, locks and disks that refuse."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from replay.core.errors import StoreError
from replay.store.snapshots import PutOutcome, SnapshotStore
from tests.support.rights import held_to_rights
from tests.support.snapshots import make_key, make_sealed, make_snapshot, make_store


def in_fork(action: Callable[[], str]) -> str:
    """What an action says in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = action()
        except StoreError as error:
            said = f"StoreError: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        said = stream.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    return said


def in_process(script: str, *arguments: object) -> str:
    """What a script prints in a fresh process."""
    start = "import sys\nfrom pathlib import Path\nfrom replay.store.snapshots import SnapshotStore\n"
    command = [sys.executable, "-c", start + script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.strip() + done.stderr.strip()


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as a full disk would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_second_writer_in_this_process_is_refused(tmp_path: Path) -> None:
    """The same path opened for writing twice says that it is already open here."""
    with make_store(tmp_path), pytest.raises(StoreError, match=r"this very process.*one writer at a time"):
        SnapshotStore.open_writable(tmp_path / "store")


def test_second_writer_in_another_process_is_refused(tmp_path: Path) -> None:
    """Another process is told which process writes, and what to do."""
    with make_store(tmp_path):
        said = in_process("SnapshotStore.open_writable(Path(sys.argv[1]))", tmp_path / "store")
    assert f"store is being written by process {os.getpid()}" in said
    assert "parallel runs write one overlay each" in said


def test_lock_ends_with_its_holder(tmp_path: Path) -> None:
    """A lock file that was left behind by a killed writer is no lock."""
    make_store(tmp_path, [make_snapshot()]).close()
    script = "s = SnapshotStore.open_writable(Path(sys.argv[1])); import os; os.kill(os.getpid(), 9)"
    in_process(script, tmp_path / "store")
    assert (tmp_path / "store" / "writer.lock").exists()
    with SnapshotStore.open_writable(tmp_path / "store") as store:
        assert store.put(make_snapshot()) is PutOutcome.SAME


def test_sealed_store_opened_twice_in_one_process(tmp_path: Path) -> None:
    """The second opening of one file in one process is refused in one line."""
    with make_sealed(tmp_path), pytest.raises(StoreError, match=r"already open in this process.*share"):
        SnapshotStore.open_sealed(tmp_path / "sealed")


def test_reader_beside_a_writer(tmp_path: Path) -> None:
    """Another process reads what is committed, also after the writer's map has grown."""
    store = make_store(tmp_path, [make_snapshot()])
    script = (
        "s = SnapshotStore.open_reader(Path(sys.argv[1])); print(len(list(s.scan())), flush=True)\n"
        "sys.stdin.readline(); print(len(list(s.scan())))"
    )
    start = "import sys\nfrom pathlib import Path\nfrom replay.store.snapshots import SnapshotStore\n"
    with subprocess.Popen(
        [sys.executable, "-c", start + script, str(tmp_path / "store")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "1\n"
        store.put_many(make_snapshot(n, body=os.urandom(3_000_000).hex()) for n in range(6))
        said, _ = reader.communicate("go\n", timeout=60)
    assert said == "7\n"


def test_reader_cannot_write(tmp_path: Path) -> None:
    """A store opened for reading refuses to be written."""
    make_store(tmp_path).close()
    with (
        SnapshotStore.open_reader(tmp_path / "store") as store,
        pytest.raises(StoreError, match="store is reader and cannot be written"),
    ):
        store.put(make_snapshot())


def test_sealed_store_cannot_be_written(tmp_path: Path) -> None:
    """Neither putting into nor opening a sealed store for writing is possible."""
    store = make_sealed(tmp_path)
    for write in (
        lambda: store.put(make_snapshot()),
        lambda: store.append(make_snapshot()),
        lambda: store.put_table("t", [("a", b"")]),
        lambda: store.set_meta({"a": 1}),
    ):
        with pytest.raises(StoreError, match="sealed"):
            write()
    with pytest.raises(StoreError, match=r"store is sealed.*create an overlay"):
        SnapshotStore.open_writable(tmp_path / "sealed")


def test_forked_child_is_refused(tmp_path: Path) -> None:
    """A store that was opened before a fork refuses every use in the child, in one line."""
    sealed, writable = make_sealed(tmp_path, [make_snapshot()]), make_store(tmp_path, [make_snapshot()])
    sealed.get(make_key("a"))
    for use in (
        lambda: str(sealed.get(make_key("a"))),
        lambda: str(writable.get(make_key("a"))),
        lambda: str(writable.put(make_snapshot("b"))),
    ):
        assert "StoreError: store was opened before this process was forked" in in_fork(use)
    assert make_snapshot() == sealed.get(make_key("a")) == writable.get(make_key("a"))


def test_forked_child_opens_a_sealed_store_anew(tmp_path: Path) -> None:
    """A child may open the same sealed store itself."""
    sealed = make_sealed(tmp_path, [make_snapshot()])

    def use() -> str:
        sealed.close()
        with SnapshotStore.open_sealed(tmp_path / "sealed") as store:
            return str(store.count(make_key("a")))

    assert in_fork(use) == "1"


def test_forked_child_does_not_keep_the_writer_lock(tmp_path: Path) -> None:
    """The parent can close and open again while a child of it lives on."""
    store = make_store(tmp_path)
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        store.close()
        SnapshotStore.open_writable(tmp_path / "store").close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_eight_threads_write_one_file_of_keys(tmp_path: Path) -> None:
    """8 threads x 25 keys keep 200 of 200."""
    store = make_store(tmp_path)
    ready = threading.Barrier(8)

    def write(thread: int) -> None:
        ready.wait()
        for n in range(25):
            assert store.put(make_snapshot(f"{thread}-{n}")) is PutOutcome.NEW

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert sorted(make_key(f"{t}-{n}") for t in range(8) for n in range(25)) == [s.key for s in store.scan()]


def test_recording_from_threads_equals_serial_recording(tmp_path: Path) -> None:
    """1,000 calls from 32 threads give the rows, and sealed the bytes, of serial recording."""
    calls = [make_snapshot(n, aliases=(make_key(f"alias {n % 9}"),)) for n in range(1000)]
    serial, threaded = make_store(tmp_path, calls, "serial"), make_store(tmp_path, name="threaded")
    with ThreadPoolExecutor(32) as pool:
        assert {0} == set(pool.map(threaded.append, calls))
    assert list(serial.scan()) == list(threaded.scan())
    for store in (serial, threaded):
        store.seal(store.path.with_suffix(".sealed"))
    one, two = (store.path.with_suffix(".sealed") / "data.mdb" for store in (serial, threaded))
    assert one.read_bytes() == two.read_bytes()


def test_equal_puts_from_threads_are_new_once(tmp_path: Path) -> None:
    """Sixteen threads that put the same snapshot make one row."""
    store = make_store(tmp_path)
    with ThreadPoolExecutor(16) as pool:
        outcomes = sorted(pool.map(lambda _: store.put(make_snapshot()), range(16)))
    assert [PutOutcome.NEW, *[PutOutcome.SAME] * 15] == outcomes


def test_sealed_store_is_shared_by_threads(tmp_path: Path) -> None:
    """Threads read one sealed store at the same time."""
    snapshots = [make_snapshot(n) for n in range(200)]
    store = make_sealed(tmp_path, snapshots)
    with ThreadPoolExecutor(8) as pool:
        assert snapshots * 5 == list(pool.map(store.get, [one.key for one in snapshots] * 5))


def test_readers_and_a_writer_in_threads(tmp_path: Path) -> None:
    """Reading while another thread makes the map grow gives whole answers."""
    store = make_store(tmp_path, [make_snapshot()])
    with ThreadPoolExecutor(4) as pool:
        writing = pool.submit(
            store.put_many, (make_snapshot(n, body=os.urandom(2_000_000).hex()) for n in range(10))
        )
        while not writing.done():
            assert make_snapshot() == store.get(make_key("a"))
    assert writing.result()[PutOutcome.NEW] == 10


def test_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    """When the disk refuses, the error is one line and everything stored before is whole."""
    store = make_store(tmp_path, [make_snapshot(n) for n in range(50)])
    size = (tmp_path / "store" / "data.mdb").stat().st_size
    with (
        file_size_limit(size + 4096),
        pytest.raises(StoreError, match=r"cannot be used.*stored before is untouched"),
    ):
        store.put_many(make_snapshot(n, body=f"{n}" * 400) for n in range(1000))
    assert (50, ()) == (len(list(store.scan())), store.fsck())
    assert store.put(make_snapshot("after")) is PutOutcome.NEW
    store.close()
    with SnapshotStore.open_writable(tmp_path / "store") as again:
        assert (51, ()) == (len(list(again.scan())), again.fsck())


def test_full_disk_while_creating_or_sealing_leaves_nothing(tmp_path: Path) -> None:
    """Neither a new store nor a sealed one stays half made."""
    store = make_store(tmp_path, [make_snapshot(n) for n in range(500)])
    with file_size_limit(10_000):
        with pytest.raises(StoreError, match=r"cannot be (created|opened)"):
            SnapshotStore.create(tmp_path / "new")
        with pytest.raises(StoreError, match="cannot be sealed"):
            store.seal(tmp_path / "sealed")
    assert ["store"] == [path.name for path in tmp_path.iterdir()]


def test_read_only_folder(tmp_path: Path) -> None:
    """A folder without write rights gives a store error; a sealed store in it opens."""
    make_sealed(tmp_path, [make_snapshot()]).close()
    tmp_path.chmod(0o555)
    (tmp_path / "sealed").chmod(0o555)
    try:
        with held_to_rights():
            with pytest.raises(StoreError, match="cannot be created"):
                SnapshotStore.create(tmp_path / "new")
            with SnapshotStore.open_sealed(tmp_path / "sealed") as store:
                assert make_snapshot() == store.get(make_key("a"))
    finally:
        tmp_path.chmod(0o755)
        (tmp_path / "sealed").chmod(0o755)


def test_sealed_store_makes_no_files(tmp_path: Path) -> None:
    """Reading a sealed store leaves the folder as it was."""
    store = make_sealed(tmp_path, [make_snapshot()])
    store.get(make_key("a"))
    assert ["data.mdb", "store.json"] == sorted(path.name for path in (tmp_path / "sealed").iterdir())

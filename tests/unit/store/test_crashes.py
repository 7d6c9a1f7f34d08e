"""Killed writers, many processes, read-only mounts: slow, with real processes."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from replay.core.errors import FormatError
from replay.store.snapshots import SnapshotStore
from tests.support.snapshots import make_key, make_sealed, make_snapshot, make_store

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
START = (
    "import sys\nfrom pathlib import Path\nfrom replay.store.snapshots import SnapshotStore\n"
    "from tests.support.snapshots import make_key, make_snapshot\npath = Path(sys.argv[1])\n"
)
RECORD = (
    "with SnapshotStore.open_writable(path) as store:\n"
    "    for n in range(2000):\n"
    "        store.append(make_snapshot(n, body=f'{n} ' * (n % 700), aliases=(make_key(-n),)))\n"
    "        print(n, flush=True)\n"
)


def start(script: str, path: Path) -> subprocess.Popen[str]:
    """Start a script in a fresh process at the root of the checkout."""
    command = [sys.executable, "-c", START + script, str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_killed_writers_tear_nothing(tmp_path: Path) -> None:
    """A recorder killed at 20 points keeps every confirmed answer and resumes to the same bytes."""
    make_store(tmp_path).close()
    dice = random.Random(24)  # noqa: S311 (a test plan)
    for _ in range(20):
        with start(RECORD, tmp_path / "store") as recorder:
            assert recorder.stdout is not None
            for _ in range(dice.randrange(1, 60)):
                recorder.stdout.readline()
            time.sleep(dice.random() / 50)
            recorder.send_signal(signal.SIGKILL)
            confirmed = len(recorder.stdout.read().splitlines())
        with SnapshotStore.open_writable(tmp_path / "store") as store:
            assert () == store.fsck()
            assert confirmed <= len(list(store.scan()))
    with start(RECORD, tmp_path / "store") as recorder:
        recorder.communicate()
    serial = make_store(
        tmp_path,
        (make_snapshot(n, body=f"{n} " * (n % 700), aliases=(make_key(-n),)) for n in range(2000)),
        "serial",
    )
    serial.seal(tmp_path / "one")
    with SnapshotStore.open_writable(tmp_path / "store") as store:
        store.seal(tmp_path / "two")
    assert (tmp_path / "one" / "data.mdb").read_bytes() == (tmp_path / "two" / "data.mdb").read_bytes()


def test_killed_batches_are_whole_or_absent(tmp_path: Path) -> None:
    """put_many killed in the middle leaves whole batches only."""
    script = (
        "store = SnapshotStore.open_writable(path)\nprint('go', flush=True)\n"
        "store.put_many(make_snapshot(n, body='x' * 500) for n in range(100_000))\n"
    )
    make_store(tmp_path).close()
    dice = random.Random(5)  # noqa: S311 (a test plan)
    for _ in range(5):
        with start(script, tmp_path / "store") as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(dice.random())
            writer.send_signal(signal.SIGKILL)
        with SnapshotStore.open_writable(tmp_path / "store") as store:
            assert 0 == sum(1 for _ in store.scan()) % 2000
            assert () == store.fsck()


def test_killed_sealing_leaves_source_and_target_clean(tmp_path: Path) -> None:
    """A sealing that was killed leaves no target; sealing again works and clears nothing else."""
    make_store(tmp_path, (make_snapshot(n) for n in range(20_000))).close()
    script = (
        "store = SnapshotStore.open_writable(path)\nprint('go', flush=True)\n"
        "store.seal(path.parent / 'sealed')\n"
    )
    with start(script, tmp_path / "store") as sealer:
        assert sealer.stdout is not None
        sealer.stdout.readline()
        time.sleep(0.3)
        sealer.send_signal(signal.SIGKILL)
    assert not (tmp_path / "sealed").exists()
    with SnapshotStore.open_writable(tmp_path / "store") as store:
        store.seal(tmp_path / "sealed")
    with SnapshotStore.open_sealed(tmp_path / "sealed") as store:
        assert () == store.fsck()


def test_two_hundred_processes_read_a_sealed_store(tmp_path: Path) -> None:
    """A sealed store needs no reader slots: of 200 processes at once 150 are killed, and it opens."""
    make_sealed(tmp_path, [make_snapshot(n) for n in range(300)]).close()
    script = (
        "store = SnapshotStore.open_sealed(path)\nstore.get(make_key(7))\nprint('open', flush=True)\n"
        "sys.stdin.read()\nprint(len(list(store.scan())))\n"
    )
    command = [sys.executable, "-c", START + script, str(tmp_path / "sealed")]
    readers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(200)
    ]
    assert {"open\n"} == {reader.stdout.readline() for reader in readers if reader.stdout}
    for reader in readers[:150]:
        reader.kill()
        reader.communicate()
    with SnapshotStore.open_sealed(tmp_path / "sealed") as store:
        assert make_snapshot(7) == store.get(make_key(7))
    assert {"300\n"} == {reader.communicate("")[0] for reader in readers[150:]}
    assert ["data.mdb", "store.json"] == sorted(path.name for path in (tmp_path / "sealed").iterdir())


def test_sealed_store_on_a_read_only_mount(tmp_path: Path) -> None:
    """A sealed store opens from a read-only mount, where writers get one clear line."""
    mount = shutil.which("unshare")
    probe = [mount or "", "--mount", "--map-root-user", "true"]
    if mount is None or subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("this machine allows no private mounts")
    make_store(tmp_path, [make_snapshot()], "open").close()
    make_sealed(tmp_path, [make_snapshot()]).close()
    script = START + (
        "print(SnapshotStore.open_sealed(path / 'sealed').count(make_key('a')))\n"
        "for action in (SnapshotStore.open_writable, SnapshotStore.create):\n"
        "    try:\n        action(path / ('open' if action.__name__ == 'open_writable' else 'new'))\n"
        "    except Exception as error:\n        print(type(error).__name__)\n"
    )
    shell = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && exec "$2" -c "$3" "$1"'
    command = [
        "unshare",
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        shell,
        "sh",
        str(tmp_path),
        sys.executable,
        script,
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert ["1", "StoreError", "StoreError"] == done.stdout.split(), done.stderr


def test_full_file_system(tmp_path: Path) -> None:
    """On a file system of 3 MiB that fills up, errors are lines and what was stored stays whole."""
    mount = shutil.which("unshare")
    probe = [mount or "", "--mount", "--map-root-user", "true"]
    if mount is None or subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("this machine allows no private mounts")
    script = START + (
        "def say(action):\n    try:\n        action()\n"
        "    except Exception as error:\n        print(type(error).__name__)\n"
        "store = SnapshotStore.create(path / 'store')\n"
        "store.put_many(make_snapshot(n) for n in range(1000))\n"
        "say(lambda: store.put_many(make_snapshot(n, body=f'{n}' * 300) for n in range(9000)))\n"
        "say(lambda: store.seal(path / 'sealed'))\n"
        "store.close()\n"
        "store = SnapshotStore.open_writable(path / 'store')\n"
        "print(sum(store.get(make_key(n)) == make_snapshot(n) for n in range(1000)))\n"
        "print(len(store.fsck()), *sorted(one.name for one in path.iterdir()))\n"
    )
    shell = 'mount -t tmpfs -o size=3m tmpfs "$1" && exec "$2" -c "$3" "$1"'
    command = [
        "unshare",
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        shell,
        "sh",
        str(tmp_path),
        sys.executable,
        script,
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert ["StoreError", "StoreError", "1000", "0", "store"] == done.stdout.split(), done.stderr


def test_every_flipped_bit_of_a_sealed_file_is_found(tmp_path: Path) -> None:
    """A flipped bit anywhere in a sealed file is damage at opening or a finding of fsck."""
    make_sealed(tmp_path, [make_snapshot(n) for n in range(200)]).close()
    path = tmp_path / "sealed" / "data.mdb"
    whole = path.read_bytes()
    path.chmod(0o644)
    dice = random.Random(11)  # noqa: S311 (a test plan)
    for position in [dice.randrange(len(whole)) for _ in range(300)]:
        data = bytearray(whole)
        data[position] ^= 1 << dice.randrange(8)
        path.write_bytes(data)
        try:
            with SnapshotStore.open_sealed(tmp_path / "sealed") as store:
                found = [finding.name for finding in store.fsck()]
        except FormatError:
            found = ["data-file"]
        assert found == ["data-file"]

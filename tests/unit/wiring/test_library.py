"""Archives found by name or path, thawed once, layered by root, and their rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from replay.core.errors import DamagedError, InputError
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.store.archive.reader import read_manifest
from replay.wiring.library import find_archive, locate_stores, open_library
from replay.wiring.places import shipped_archives
from tests.support.archives import make_archive, make_facts
from tests.support.libraries import freeze_library, make_candidate, make_output, opened

MINI = next(path for path in shipped_archives() if path.stem == "stabletoolbench-mini-1.0")


@pytest.mark.parametrize("reference", [str(MINI), MINI.stem, "stabletoolbench-mini", "stabletoolbench"])
def test_an_archive_is_found_by_path_name_or_benchmark(reference: str) -> None:
    """A path, a file name, the archive's own name and its benchmark lead to one file."""
    assert find_archive(reference) == MINI


def test_a_path_that_is_not_there_stays_a_path() -> None:
    """What ends in .replay is a path, and opening it says that it is not there."""
    assert Path("nowhere.replay") == find_archive("nowhere.replay")


def test_a_wrong_name_lists_and_suggests() -> None:
    """The shipped archives are listed, and the closest is named."""
    with pytest.raises(InputError, match=r"one of: .*stabletoolbench-mini-1\.0.*; next: did you mean stable"):
        find_archive("stabletoolbench-mini-1.1")


def test_a_far_name_is_not_guessed() -> None:
    """Nothing is suggested for a name that is like none."""
    with pytest.raises(InputError, match=r"no archive 'zzz'.*next: replay archive list"):
        find_archive("zzz")


def test_an_archive_is_thawed_once(tmp_path: Path) -> None:
    """The second opening finds the store of the root, whatever the archive's file is called."""
    archive, home = make_archive(tmp_path), tmp_path / "home"
    first, _ = locate_stores(archive, home=home)
    made = (Path(first.stores[0]) / "data.mdb").stat()
    copy = shutil.copyfile(archive, tmp_path / "copy.replay")
    second, _ = locate_stores(copy, home=home)
    assert first == second
    assert made == (Path(second.stores[0]) / "data.mdb").stat()


def spoil_page(store: Path) -> None:
    """Flip one bit deep in the data file."""
    data = bytearray((store / "data.mdb").read_bytes())
    data[len(data) // 2] ^= 1
    (store / "data.mdb").chmod(0o644)
    (store / "data.mdb").write_bytes(bytes(data))


def spoil_version(store: Path) -> None:
    """Say that another program made the store."""
    marker = store / "store.json"
    marker.chmod(0o644)
    marker.write_bytes(marker.read_bytes().replace(b"lmdb 0.9", b"lmdb 9.9"))


@pytest.mark.parametrize("spoil", [spoil_page, spoil_version, lambda store: (store / "data.mdb").unlink()])
def test_a_store_that_is_not_whole_is_thawed_anew(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """A store of another version or with a damaged page is rebuilt from its archive, never read."""
    archive, home = make_archive(tmp_path), tmp_path / "home"
    store = Path(locate_stores(archive, home=home)[0].stores[0])
    good = (store / "data.mdb").read_bytes()
    spoil(store)
    again = Path(locate_stores(archive, home=home)[0].stores[0])
    assert (store, good) == (again, (again / "data.mdb").read_bytes())
    assert [store.name] == [path.name for path in store.parent.iterdir()]


def test_a_store_that_another_process_made_meanwhile_is_used(tmp_path: Path) -> None:
    """Many threads that open one archive for the first time all end with the one store."""
    archive, home = make_archive(tmp_path), tmp_path / "home"
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: locate_stores(archive, home=home)[0].stores, range(4)))
    assert 1 == len(set(found))


def make_layer(base: Path, path: Path) -> Path:
    """Freeze a layer on a base, holding one candidate more."""
    facts = make_facts("layer", benchmark="stabletoolbench", bases=(read_manifest(base).root,))
    rows = [("new", b'{"identity":{"name":"new"},"name":"new"}')]
    freeze(ArchiveContent(facts=facts, tables={"candidates": rows}, snapshots=()), path)
    return path


def test_a_layer_is_read_with_its_base(tmp_path: Path) -> None:
    """A base beside the layer is found by its root, and both are read as one."""
    base = freeze_library(tmp_path / "base.replay", candidates=[make_candidate("old")])
    with opened(make_layer(base, tmp_path / "layer.replay")) as library:
        assert ["new", "old"] == sorted(library.candidates())
        assert ["1", "2"] == [task.id for task in library.tasks()]


def test_what_lies_beside_a_layer_and_is_no_archive_is_no_matter(tmp_path: Path) -> None:
    """A cut download or a foreign file of that ending never keeps a layer from its base."""
    base = freeze_library(tmp_path / "base.replay", candidates=[make_candidate("old")])
    layer = make_layer(base, tmp_path / "layer.replay")
    (tmp_path / "a.replay").write_text("no archive")
    (tmp_path / "z.replay").write_bytes(base.read_bytes()[:3000])
    (tmp_path / "folder.replay").mkdir()
    with opened(layer) as library:
        assert {"old", "new"} == set(library.candidates())
    with pytest.raises(InputError, match="not a tar file"), opened(layer, bases=[tmp_path / "a.replay"]):
        pass


def test_a_base_may_lie_anywhere_when_it_is_named(tmp_path: Path) -> None:
    """A base that is not beside the layer is named; without it the root says which one is wanted."""
    (tmp_path / "far").mkdir()
    base = freeze_library(tmp_path / "far" / "base.replay")
    layer = make_layer(base, tmp_path / "layer.replay")
    root = read_manifest(base).root
    with pytest.raises(InputError, match=rf"base archive {root} is not here.*name it with --base"):
        locate_stores(layer, home=tmp_path / "home")
    with opened(layer, bases=[base]) as library:
        assert "new" in library.candidates()


def test_a_wrong_base_is_no_base(tmp_path: Path) -> None:
    """An archive with another root is not taken for the base, whatever it is called."""
    (tmp_path / "far").mkdir()
    base = freeze_library(tmp_path / "far" / "base.replay")
    layer = make_layer(base, tmp_path / "layer.replay")
    other = freeze_library(tmp_path / "base.replay", judges=["somebody"])
    with pytest.raises(InputError, match=r"base archive sha256:\w+ is not here"):
        locate_stores(layer, home=tmp_path / "home", bases=[other])


def test_a_base_of_an_archive_that_stands_alone_is_refused(tmp_path: Path) -> None:
    """A base that would not be read is not taken in silence."""
    archive = freeze_library(tmp_path / "a.replay")
    with pytest.raises(InputError, match=r"a\.replay was named as a base of an archive that stands alone"):
        locate_stores(archive, home=tmp_path / "home", bases=[archive])


def test_rows_are_read_by_kind(tmp_path: Path) -> None:
    """Tasks, candidates, judges and outputs come back as what they were."""
    outputs = [make_output("cot"), make_output("cot", "2"), make_output("cottage")]
    archive = freeze_library(
        tmp_path / "a.replay", candidates=[make_candidate()], judges=["panel"], outputs=outputs
    )
    with opened(archive) as library:
        assert {"cot": make_candidate()} == library.candidates()
        assert {"name": "panel"} == library.judges()["panel"].identity
        assert tuple(outputs[:2]) == library.outputs("cot")
        assert ("cot", "cottage") == library.output_candidates()
        assert "demo 1" == library.label


def test_free_documents_are_read_by_name(tmp_path: Path) -> None:
    """A row is its JSON, or None when there is no such row or table."""
    with opened(freeze_library(tmp_path / "a.replay", judges=["panel"])) as library:
        assert "panel" == library.document("judges", "panel")["name"]
        assert None is library.document("judges", "nobody")
        assert None is library.document("songs", "one")


def test_a_row_of_another_shape_is_damage_by_name(tmp_path: Path) -> None:
    """A row that this program cannot read is named with archive, table and id."""
    path = tmp_path / "a.replay"
    rows = {"judges": [("panel", b'{"nickname":"panel"}')]}
    freeze(ArchiveContent(facts=make_facts(), tables=rows, snapshots=()), path)
    with (
        opened(path) as library,
        pytest.raises(DamagedError, match=r"row 'panel' is not a JudgeRow.*archive demo 1, table judges"),
    ):
        library.judges()


def test_two_processes_may_open_one_store(tmp_path: Path) -> None:
    """Opening leaves nothing behind in the sealed store."""
    paths, _ = locate_stores(freeze_library(tmp_path / "a.replay"), home=tmp_path / "home")
    before = sorted(path.name for path in Path(paths.stores[0]).iterdir())
    with open_library(paths):
        pass
    assert before == sorted(path.name for path in Path(paths.stores[0]).iterdir())

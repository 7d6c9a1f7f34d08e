"""`replay archive`: freeze, thaw, verify, list, diff, sign."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli import options as opt
from replay.cli.screen import Screen, count_of, render_table

if TYPE_CHECKING:
    from replay.wiring.archives import Listing

__all__ = ["app"]

app = typer.Typer(
    help="Freeze, thaw, verify, list, compare and sign archives.",
    rich_markup_mode=None,
)

_File = Annotated[Path, typer.Argument(help="A .replay file.")]
_Key = Annotated[
    list[Path] | None, typer.Option("--key", help="ed25519 public key (PEM) that must have signed.")
]


@app.command(epilog="Example: replay archive freeze runs/my-run/overlay -o more.replay --base stb.replay")
def freeze(
    store: Annotated[Path, typer.Argument(help="A store folder: a thawed archive, or a run's overlay.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Archive to write.")],
    name: Annotated[str, typer.Option(help="Name of the archive [default: as stored].")] = "",
    version: Annotated[str, typer.Option(help="Version of the archive [default: as stored].")] = "",
    base: Annotated[
        list[str] | None,
        typer.Option(
            "--base",
            help="Archive the store's content goes on top of, a file or a shipped name: freeze a layer; "
            "lowest first.",
        ),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="With --base: one archive that stands alone, bases included.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an archive at that place.")] = False,
    allow_finding: Annotated[
        list[str] | None,
        typer.Option("--allow-finding", help="RULE:DIGEST of what looks like a secret and is none."),
    ] = None,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Write a store as one archive; the same content gives the same bytes."""
    from replay.core.errors import UsageError
    from replay.wiring.freezing import Below, freeze_folder
    from replay.wiring.library import find_archive

    screen = Screen(json=json)
    if merge and not base:
        raise UsageError("--merge has nothing to merge with", expected="--base ARCHIVE, once or more")
    manifest = freeze_folder(
        store,
        output,
        label=(name, version),
        below=Below(bases=tuple(map(find_archive, base)), merge=merge, home=home) if base else None,
        overwrite=overwrite,
        allowed=tuple(allow_finding or ()),
    )
    screen.emit({"archive": output.name, "root": manifest.root, "rows": dict(manifest.counts)})
    screen.say(f"archive {output}  {manifest.name} {manifest.version}")
    screen.say(f"root    {manifest.root}")
    return 0


@app.command(epilog="Example: replay archive thaw stb.replay -o stb-store")
def thaw(
    archive: _File,
    output: Annotated[Path, typer.Option("--output", "-o", help="Store folder to make.")],
    json: opt.JsonFlag = False,
) -> int:
    """Build a sealed store from an archive, verifying every row on the way."""
    from replay.wiring.archives import thaw_archive

    screen = Screen(json=json)
    manifest = thaw_archive(archive, output)
    screen.emit({"store": str(output), "root": manifest.root, "rows": dict(manifest.counts)})
    screen.say(f"store {output}")
    screen.say(f"root  {manifest.root}")
    return 0


@app.command(epilog="Example: replay archive verify stb.replay --sample 0.01")
def verify(
    archive: _File,
    sample: Annotated[
        float | None, typer.Option(help="Check only this share of the content (0..1) [default: all].")
    ] = None,
    key: _Key = None,
    json: opt.JsonFlag = False,
) -> int:
    """Re-hash an archive; every damaged byte is found and named. With --key also check signatures."""
    from replay.cli.checks import report_archive

    return report_archive(archive, Screen(json=json), sample=sample, keys=tuple(key or ()))


@app.command("list", epilog="Example: replay archive list stb.replay --table tasks")
def list_(
    archive: Annotated[str, typer.Argument(help="A .replay file [default: the shipped archives].")] = "",
    table: Annotated[str, typer.Option(help="List its row ids; differences with their reasons.")] = "",
    json: opt.JsonFlag = False,
) -> int:
    """List shipped archives, the tables of one archive, or the rows of one table."""
    from replay.wiring.archives import list_rows, list_shipped, list_tables

    screen = Screen(json=json)
    if not archive:
        _show_shipped(screen, list_shipped())
    elif not table:
        _show_tables(screen, list_tables(archive))
    else:
        for row in list_rows(archive, table):
            screen.emit({"table": table, **row})
            screen.say(row["id"])
            for name in ("what", "why"):
                if name in row:
                    screen.say(f"  {name:<4}  {row[name]}")
    return 0


@app.command(epilog="Example: replay archive diff stb-1.replay stb-2.replay")
def diff(
    left: Annotated[Path, typer.Argument(help="The archive to compare from.")],
    right: Annotated[Path, typer.Argument(help="The archive to compare with.")],
    json: opt.JsonFlag = False,
) -> int:
    """Compare two archives item by item; exit 1 when they differ."""
    from msgspec import to_builtins

    from replay.wiring.archives import compare_archives

    screen = Screen(json=json)
    found = compare_archives(left, right)
    screen.emit({**to_builtins(found), "same": found.is_same})
    screen.say(f"left   {found.left_root}")
    screen.say(f"right  {found.right_root}")
    for fact in found.facts:
        screen.say(f"statement differs: {fact}")
    rows = [(item.change, item.table, item.id, item.path) for item in found.items]
    if rows:
        screen.say(render_table(("change", "table", "id", "first difference"), rows))
    counts = f"{count_of(len(found.facts), 'statement')} and {count_of(len(found.items), 'item')} differ"
    screen.say("same" if found.is_same else counts)
    return 0 if found.is_same else 1


@app.command(epilog="Example: replay archive sign stb.replay --key key.pem")
def sign(
    archive: _File,
    key: Annotated[Path, typer.Option("--key", help="ed25519 private key (PEM, PKCS 8).")],
    json: opt.JsonFlag = False,
) -> int:
    """Verify an archive and sign it; the signature lies beside it and earlier ones are kept."""
    from replay.wiring.freezing import sign_archive

    screen = Screen(json=json)
    path, keyids = sign_archive(archive, key)
    screen.emit({"signature": path.name, "keyids": list(keyids)})
    screen.say(f"signature {path}")
    for keyid in keyids:
        screen.say(f"signed by {keyid}")
    return 0


def _show_shipped(screen: Screen, listings: Iterable[tuple[str, Listing]]) -> None:
    from msgspec import to_builtins

    rows = []
    for name, listing in listings:
        screen.emit({"archive": name, **to_builtins(listing)})
        rows.append((name, listing.benchmark, listing.version, str(listing.file_bytes), listing.root))
    screen.say(render_table(("archive", "benchmark", "version", "bytes", "root"), rows))


def _show_tables(screen: Screen, listing: Listing) -> None:
    from msgspec import to_builtins

    screen.emit(to_builtins(listing))
    screen.say(f"{listing.name} {listing.version}  benchmark {listing.benchmark}")
    screen.say(f"root {listing.root}")
    for base in listing.bases:
        screen.say(f"base {base}")
    for source, licence in sorted(listing.licences.items()):
        screen.say(f"licence of {source}: {licence}")
    header = ("table", "rows", "content bytes", "file bytes")
    rows = [(t.name, str(t.rows), str(t.content_bytes), str(t.file_bytes)) for t in listing.tables]
    screen.say(render_table(header, rows))

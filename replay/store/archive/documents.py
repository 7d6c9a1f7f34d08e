"""The two members that are for people and stock tools: README.txt and SHA256SUMS."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from replay.core.errors import DamagedError
from replay.store.archive.manifest import ArchiveManifest

__all__ = [
    "MAX_README_BYTES",
    "MAX_SUMS_BYTES",
    "decode_sums",
    "encode_sums",
    "manifest_witness",
    "write_readme",
]

MAX_README_BYTES: Final = 64 << 10
MAX_SUMS_BYTES: Final = 64 << 10

_SUM_LINE: Final = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9./-]+)")
_WITNESS: Final = re.compile(rb"^SHA-256 of manifest\.json: ([0-9a-f]{64})$", re.MULTILINE)

_README: Final = """\
{name} {version}: a frozen archive of the benchmark {benchmark}.

Archive root: {root}
SHA-256 of manifest.json: {manifest_sha256}

This file is a plain tar (POSIX ustar). It needs no program of its own to be read. In an empty folder:

  1  tar xf ARCHIVE.replay             unpack
  2  sha256sum -c SHA256SUMS           every member is as it was written
  3  zstd -d *.jsonl.zst               uncompress; a table is one JSON object a line
  4  wc -l *.jsonl                     row counts, as in manifest.json under tables[].rows
  5  python3 README.txt                compute the archive root from the rows; it prints the root above

What a table holds: `tasks` the questions, `tools` the tool descriptions, `snapshots-*` recorded answers with
the requests they answer, `outputs` what other harnesses produced. All text is UTF-8; rows are canonical JSON
(RFC 8785) sorted by id. A row is {{"id": ID, "record": RECORD}}; a snapshot is a row of its own, with the id
KEY#SEQUENCE. The key of a snapshot is "sha256:" and the hex of SHA-256 over its kind, a zero byte and its
canonical `request`.
"""

_SCRIPT: Final = """
import hashlib, json

def H(data):
    return hashlib.sha256(data).digest()

def tree(n):
    while len(n) > 1:
        n = [H(b"\\1" + b"".join(n[i:i+2])) if n[i+1:] else n[i] for i in range(0, len(n), 2)]
    return n[0] if n else H(b"")

manifest = json.load(open("manifest.json", encoding="utf-8"))
nodes = [H(b"\\3" + bytes.fromhex(base[7:])) for base in manifest["bases"]]
for table in manifest["tables"]:
    name, leaves = table["name"].encode(), []
    for line in open(table["name"] + ".jsonl", "rb"):
        line = line[:-1]
        row = json.loads(line)
        id = row["id"] if "id" in row else "%s#%d" % (row["key"], row["sequence"])
        leaves.append(H(b"\\0" + name + b"\\0" + id.encode() + b"\\0" + H(line)))
    nodes.append(H(b"\\2" + name + b"\\0" + len(leaves).to_bytes(8, "big") + tree(leaves)))
print("sha256:" + tree(nodes).hex())
"""


def write_readme(manifest: ArchiveManifest, manifest_sha256: str) -> bytes:
    """Write README.txt: text to people, and a Python program to `python3 README.txt`."""
    text = _README.format(
        name=manifest.name,
        version=manifest.version,
        benchmark=manifest.benchmark,
        root=manifest.root,
        manifest_sha256=manifest_sha256,
    )
    return f'"""\n{text}"""\n{_SCRIPT}'.encode()


def manifest_witness(readme: bytes) -> str:
    """Read the manifest's SHA-256 out of README.txt; empty when it is not there."""
    found = _WITNESS.search(readme)
    return found.group(1).decode() if found else ""


def encode_sums(digests: Mapping[str, str]) -> bytes:
    """Write SHA256SUMS for `sha256sum -c`. Shape: member name to SHA-256 hex, in member order."""
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items()).encode()


def decode_sums(data: bytes) -> dict[str, str]:
    """Read SHA256SUMS. Errors: DamagedError naming the line."""
    sums: dict[str, str] = {}
    lines = data.decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines[:-1], start=1):
        found = _SUM_LINE.fullmatch(line)
        if found is None or found.group(2) in sums:
            raise DamagedError(
                "not a checksum line",
                where=f"SHA256SUMS, line {number}",
                expected="64 hex digits and a member",
            )
        sums[found.group(2)] = found.group(1)
    if lines[-1]:
        raise DamagedError("the last line has no end", where=f"SHA256SUMS, line {len(lines)}")
    return sums

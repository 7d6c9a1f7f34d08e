"""Texts -> the terms that retrieval compares (spec section 4).

Owns stop words, the synonyms of actions, the small lexicon for Chinese requests, and the cut into clauses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["clauses", "expand", "stem", "terms"]

_STOP: Final = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "from",
        "that",
        "this",
        "then",
        "into",
        "onto",
        "all",
        "are",
        "was",
        "has",
        "have",
        "its",
        "use",
        "using",
        "please",
        "you",
        "your",
        "can",
        "will",
        "not",
        "any",
        "new",
        "one",
        "two",
        "both",
        "each",
        "via",
        "per",
        "out",
        "off",
        "via",
        "after",
        "before",
        "next",
        "finally",
        "also",
        "them",
        "than",
        "which",
        "whose",
        "where",
        "when",
        "what",
        "how",
        "who",
    ]
)
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]+")
_CLAUSE: Final = re.compile(
    r"\band then\b|\bafter that\b|\bthen\b|\bnext\b|\bfinally\b|;|\n|\uff1b|然后|接着|最后", re.IGNORECASE
)
_MIN_TERM: Final = 3
_MAX_CHINESE: Final = 4

_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "show": ("display", "open", "toggle"),
    "hide": ("toggle", "close"),
    "display": ("show",),
    "list": ("get",),
    "get": ("retrieve", "fetch"),
    "retrieve": ("get", "fetch"),
    "fetch": ("get", "retrieve"),
    "find": ("search", "locate"),
    "search": ("find",),
    "locate": ("find",),
    "calculate": ("compute", "calc"),
    "compute": ("calculate", "calc"),
    "create": ("add",),
    "add": ("create", "save"),
    "remove": ("delete", "clear"),
    "delete": ("remove",),
    "clear": ("delete",),
    "change": ("update", "set"),
    "modify": ("update", "edit"),
    "update": ("set",),
    "configure": ("set", "settings"),
    "load": ("open", "import"),
    "import": ("load",),
    "save": ("export", "write"),
    "export": ("save",),
    "jump": ("navigate", "goto"),
    "navigate": ("jump", "goto"),
    "digest": ("restriction",),
    "run": ("execute",),
    "execute": ("run",),
    "blast": ("alignment",),
    "fold": ("structure",),
}

_LEXICON: Final[Mapping[str, tuple[str, ...]]] = {
    "基因": ("gene",),
    "序列": ("sequence",),
    "搜索": ("search", "find"),
    "查找": ("find", "search"),
    "导航": ("navigate",),
    "跳转": ("jump", "navigate"),
    "导出": ("export",),
    "加载": ("load",),
    "打开": ("open",),
    "关闭": ("close",),
    "标签": ("tab",),
    "轨道": ("track",),
    "翻译": ("translate",),
    "注释": ("annotation",),
    "引物": ("primer",),
    "酶切": ("restriction", "digest"),
    "含量": ("content",),
    "蛋白": ("protein",),
    "删除": ("delete",),
    "列出": ("list",),
    "放大": ("zoom",),
    "缩小": ("zoom",),
}


def terms(text: str) -> list[str]:
    """Cut a text into terms: camel case split and also kept whole, stop words and short words out."""
    found: dict[str, None] = {}
    for word in _WORD.findall(text):
        parts = _HUMP.sub(" ", word).split()
        for part in (word, *(parts if len(parts) > 1 else ())):
            term = part.lower()
            if len(term) >= _MIN_TERM and term not in _STOP:
                found.setdefault(stem(term))
    for run in _CHINESE.findall(text):
        for term in _chinese(run):
            found.setdefault(term)
    return list(found)


def expand(query: list[str]) -> list[str]:
    """Add the synonyms of actions, the words themselves first."""
    more = (other for term in query for other in _SYNONYMS.get(term, ()))
    return list(dict.fromkeys((*query, *map(stem, more))))


def stem(term: str) -> str:
    """Strip plurals and -ing."""
    if term.endswith("ing") and len(term) > 6:
        return term[:-3]
    if term.endswith("ies") and len(term) > 5:
        return f"{term[:-3]}y"
    if term.endswith("s") and not term.endswith(("ss", "us", "is")) and len(term) > 3:
        return term[:-1]
    return term


def clauses(text: str) -> list[str]:
    """Cut an instruction into its clauses; one clause when nothing divides it."""
    found = [part.strip() for part in _CLAUSE.split(text) if part.strip()]
    return found or [text]


def _chinese(run: str) -> list[str]:
    grams = [run[i : i + size] for size in range(2, _MAX_CHINESE + 1) for i in range(len(run) - size + 1)]
    english = [word for gram in grams for word in _LEXICON.get(gram, ())]
    return [*english, *grams]

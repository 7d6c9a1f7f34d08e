"""Nasty values, shared by every property test: what public bug reports say breaks keys, caches and stores.

`json_values` draws anything that has a canonical form; `refused_values` draws (value, JSON path) pairs that
have none. `NASTY_TEXTS` and `NASTY_NUMBERS` are plain tuples for tests that want each of them once.
"""

from __future__ import annotations

from hypothesis import strategies as st

from replay.core.types import Json

__all__ = [
    "NASTY_NUMBERS",
    "NASTY_TEXTS",
    "json_objects",
    "json_scalars",
    "json_values",
    "names",
    "refused_values",
    "texts",
]

NASTY_TEXTS: tuple[str, ...] = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\x1b[2J",
    "\x7f",
    "\u0080",
    "\u2028\u2029",
    "\ufeff",
    "\ufffe\uffff",
    "\r\n",
    '"\\/\b\f\n\r\t',
    "</script>",
    "{'q': 'it''s'}",
    "caf\u00e9",
    "cafe\u0301",
    "\u20ac",
    "\ufb33",
    "\U0001f602",
    "\U0010ffff",
    "\ue000",
    "\ud7ff",
    "null",
    "NaN",
    "25",
    "1e400",
    "../../etc/passwd",
    "api_key=sk-canary",
    "__proto__",
    "x" * 300,
)
"""Texts that have broken an escaper, a sorter, a terminal or a path somewhere."""

NASTY_NUMBERS: tuple[int | float, ...] = (
    0,
    -0.0,
    1,
    1.0,
    -1,
    25,
    25.0,
    0.1,
    1e-6,
    1e-7,
    0.001,
    1e15,
    1e16,
    1e20,
    1e21,
    123456789012345680000.0,
    5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    2**53,
    2.0**53,
    2**53 + 1,
    -(2**53) - 1,
    2.0**60,
    2**60,
    2**63 - 1,
    -(2**63),
    -(2**63) - 1,
    2**64 - 1,
    2**64,
    10**21,
    10**100,
    10**4299,
)
"""Numbers at which printers, readers and word sizes change their mind."""

# A text of JSON is Unicode without lone surrogates.
texts = st.one_of(
    st.sampled_from(NASTY_TEXTS), st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
)

# Names that collide or sort differently by code points, UTF-8 bytes, UTF-16 units, case or normal form.
names = st.one_of(texts, st.sampled_from(("a", "A", "b", "aa", "1", "10", "2", "\ufb33", "\U0001f602", "\r")))

json_scalars: st.SearchStrategy[Json] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NASTY_NUMBERS),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)

json_values: st.SearchStrategy[Json] = st.recursive(
    json_scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)),
    max_leaves=12,
)

json_objects: st.SearchStrategy[dict[str, Json]] = st.dictionaries(names, json_values, max_size=5)

_LEAVES: tuple[Json, ...] = (
    float("nan"),
    float("inf"),
    float("-inf"),
    "\ud800",
    "a\udfffb",
    10**4300,
    -(10**4300),
    b"bytes",
    {1, 2},
    1 + 2j,
    object(),
)
_OBJECTS: tuple[Json, ...] = ({1: 2}, {None: 1}, {True: 1}, {"a": 1, 2: 3})


@st.composite
def refused_values(draw: st.DrawFn) -> tuple[Json, str]:
    """Draw a value without canonical form, and the JSON path of its only fault."""
    value = draw(st.sampled_from(_LEAVES + _OBJECTS))
    path = ""
    for _ in range(draw(st.integers(0, 4))):
        kept = draw(json_values)
        if draw(st.booleans()):
            value, path = [kept, value], "[1]" + path
        else:
            value, path = {"kept": kept, "bad": value}, ".bad" + path
    return value, "$" + path

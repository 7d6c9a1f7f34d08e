"""Where an answer names the tools of a list: whole names, the longest first, in any case.

Owns borders and containment: a name inside a longer name is not named by it, whether that is listed or not.
Every search is linear in the text for one name, whatever the text repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

__all__ = ["NameFinder", "is_inner", "is_named", "is_whole"]

_LAST_LATIN: Final = "\u024f"
"""Letters up to here continue a word; other scripts write names without spaces around them."""


class NameFinder:
    """The names of one list, ready to be found."""

    def __init__(self, names: Iterable[str], masks: Iterable[str] = ()) -> None:
        """Prepare names; `masks` are longer names off the list that hide the listed ones inside them."""
        self.names = tuple(names)
        self._forms = tuple((name, name.lower()) for name in self.names if name)
        others = [name.lower() for name in (*self.names, *masks)]
        self._hidden_by = {
            lowered: tuple(
                (other, at) for other in others if other != lowered for at in _places(other, lowered)
            )
            for _, lowered in self._forms
        }

    def first(self, lowered: str) -> list[tuple[int, str]]:
        """First mention of each name in a lower-cased text, as (place, name) in order of place."""
        return self.every(lowered, limit=1)

    def every(self, lowered: str, *, limit: int) -> list[tuple[int, str]]:
        """Mentions of all names in order of place; at most `limit` of each name."""
        found = []
        for name, form in self._forms:
            # Most names are not there at all, and this test is the cheapest there is.
            if form in lowered:
                found += [(place, name) for place in islice(self._mentions(lowered, form), limit)]
        return sorted(found) if len(found) > 1 else found

    def _mentions(self, lowered: str, form: str) -> Iterator[int]:
        hidden_by = self._hidden_by[form]
        place = lowered.find(form)
        while place >= 0:
            if is_whole(lowered, place, len(form)) and not (
                hidden_by
                and any(
                    place >= at
                    and lowered.startswith(other, place - at)
                    and is_whole(lowered, place - at, len(other))
                    for other, at in hidden_by
                )
            ):
                yield place
            place = lowered.find(form, place + 1)


def is_named(lowered: str, form: str) -> bool:
    """Tell whether a lower-cased text holds a lower-cased name as a whole."""
    place = lowered.find(form) if form else -1
    while place >= 0:
        if is_whole(lowered, place, len(form)):
            return True
        place = lowered.find(form, place + 1)
    return False


def is_whole(text: str, place: int, length: int) -> bool:
    """Tell whether a piece of text is not continued on either side."""
    end = place + length
    return not (place and is_inner(text[place - 1])) and not (end < len(text) and is_inner(text[end]))


def is_inner(sign: str) -> bool:
    """Tell whether a character continues a word: letters and digits of the Latin script, and `_`."""
    return sign == "_" or (sign <= _LAST_LATIN and sign.isalnum())


def _places(text: str, part: str) -> Sequence[int]:
    places = []
    at = text.find(part) if part else -1
    while at >= 0:
        places.append(at)
        at = text.find(part, at + 1)
    return places

"""How a patch writes the names of its files: C-quoted or plain, and with a first component that ``-p1`` drops."""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

#: The name of a file that is not there.
NOWHERE = b"/dev/null"


def header_name(text: bytes) -> bytes:
    """A name as it stands in a header: C-quoted, or up to a tab (which ends names with spaces)."""
    quoted = _QUOTED.match(text)
    if quoted is not None:
        return _unquoted(quoted[1])
    return text.split(b"\t", 1)[0].rstrip(b"\r")


def header_names(text: bytes) -> tuple[bytes, bytes] | None:
    """Both names of a ``diff --git`` line; None when they cannot be told apart (other headers then name the file)."""
    text = text.rstrip(b"\r")
    quoted = list(_two_quoted(text))
    if quoted:
        return (quoted[0], quoted[1]) if len(quoted) == 2 else None
    # Unquoted names may hold spaces; a header that is needed at all names one file twice, so it splits in the middle.
    middle = len(text) // 2
    first, second = text[:middle], text[middle + 1 :]
    if text[middle : middle + 1] == b" " and without_prefix(first) == without_prefix(second):
        return first, second
    parts = text.split(b" ")
    return (parts[0], parts[1]) if len(parts) == 2 else None


def _two_quoted(text: bytes) -> Iterator[bytes]:
    """The names of a header of which at least one is quoted; nothing when none is."""
    first = _QUOTED.match(text)
    if first is not None:
        yield _unquoted(first[1])
        yield header_name(text[first.end() :].lstrip(b" "))
    elif text.endswith(b'"') and b' "' in text:
        plain, _, rest = text.partition(b' "')
        yield plain
        yield header_name(b'"' + rest)


def _unquoted(text: bytes) -> bytes:
    return _ESCAPE.sub(lambda found: _unescaped(found[1]), text)


def _unescaped(code: bytes) -> bytes:
    if len(code) == 3:
        return bytes([int(code, 8) & 0xFF])
    return _ESCAPED.get(code, code)


def without_prefix(name: bytes) -> bytes:
    """``a/x`` -> ``x``, as ``-p1`` does; a name without a directory stays."""
    return name if name == NOWHERE or b"/" not in name else name.split(b"/", 1)[1]


def shown(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")

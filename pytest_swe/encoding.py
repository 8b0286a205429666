"""Patches as text and as bytes: users' files hold text, what is applied is bytes."""

from __future__ import annotations

import re

_NO_BYTE = re.compile("([\ud800-\udc7f\udd00-\udfff]+)")


def patch_bytes(text: str) -> bytes:
    """The bytes of a patch that stands in a file as ``text``. Total.

    UTF-8, and one rule for lone surrogates, which no UTF-8 text has: U+DC80 to U+DCFF is a byte that Python's
    ``surrogateescape`` read (0x80 to 0xFF); any other is written as ``surrogatepass`` does.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        pass
    parts = _NO_BYTE.split(text)
    return b"".join(part.encode("utf-8", ("surrogateescape", "surrogatepass")[n % 2]) for n, part in enumerate(parts))

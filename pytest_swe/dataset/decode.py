"""JSON as users' files have it, to Python and back, without losing a line that Python's own json accepts.

orjson reads; what it refuses and json can take (lone surrogates, NaN, raw control characters) goes through json.
"""

from __future__ import annotations

import base64
import json
from typing import cast

import orjson

BOM = b"\xef\xbb\xbf"
_DEEP = "nested too deeply"


def loads(raw: bytes, *, any_bytes: bool = False) -> object:
    """The JSON value in ``raw``.

    With ``any_bytes``, a byte that is no UTF-8 is kept as a surrogate (PEP 383), which
    `pytest_swe.encoding.patch_bytes` turns back.
    Raises ValueError whose message is one line and names the place.
    """
    try:
        return cast("object", orjson.loads(raw))
    except orjson.JSONDecodeError:
        pass  # ask json, which is slower, knows more forms, and says where
    try:
        text = raw.decode("utf-8", "surrogateescape" if any_bytes else "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte 0x{raw[error.start]:02x} at column {error.start + 1}") from None
    try:
        # Not strict: a raw tab or form feed in a string is wrong and clear, and no reason to lose a line.
        return cast("object", json.loads(text, strict=False))
    except json.JSONDecodeError as error:
        where = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno} column {error.colno}"
        raise ValueError(f"not JSON: {error.msg} at {where}") from None
    except RecursionError:
        raise ValueError(f"not JSON: {_DEEP}") from None


def dumps(value: object) -> bytes:
    """``value`` as one line of JSON without a line end; `loads` gives it back, save that NaN and infinity may be null.

    What JSON has no form for (parquet has dates, decimals, bytes) becomes text, bytes as base64.
    """
    try:
        return orjson.dumps(value, default=_as_text)
    except TypeError:
        pass  # a lone surrogate or a long integer: json writes both
    return json.dumps(value, separators=(",", ":"), default=_as_text).encode("ascii")


def _as_text(value: object) -> str:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else str(value)

"""Names for files: ids and models come from users' files, and each must become one plain name of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def safe_name(name: str) -> str:
    """One path component: swebench's ``/`` -> ``__``; what still is no plain name, or too long, gets a digest."""
    plain = name.replace("/", "__") or "None"
    good = "".join(char if char.isalnum() or char in "._-+@=, " else "_" for char in plain).strip(" .")[:120]
    while len(good.encode()) > 200:  # a file system counts bytes
        good = good[: len(good) // 2]
    return good if good == plain else f"{good or 'x'}-{_digest(name)}"


def distinct_names(names: Iterable[tuple[K, str]]) -> dict[K, str]:
    """A safe name for each key, no two the same: of those that come out the same the first has the plain one."""
    found: dict[K, str] = {}
    taken: set[str] = set()
    for key, name in names:
        if key in found:
            continue
        safe = safe_name(name)
        if safe in taken:
            safe = f"{safe}-{_digest(repr(key))}"
        taken.add(safe)
        found[key] = safe
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]

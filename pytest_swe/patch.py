"""Reading a patch to describe it: which files it names, and how. The bytes that are applied are never made here.

Grammar: what ``git diff`` and ``diff -u`` write, git's extended headers and C-quoted names included. Names are read
as ``-p1`` reads them (the first component dropped), since that is how the patch will be applied.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from pytest_swe.patch_names import NOWHERE, header_name, header_names, shown, without_prefix

Kind = Literal["added", "deleted", "modified", "renamed", "copied", "mode"]

#: Problems that are listed; more of one patch say nothing new.
MAX_PROBLEMS = 20

_HUNK = re.compile(rb"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchFile:
    """One file that a patch names. ``path`` and ``old_path`` are for people: bytes that are no UTF-8 are escaped.

    ``raw`` and ``raw_old`` are the exact names. ``old_path`` differs from ``path`` only in renames and copies.
    ``has_data`` is False for a binary file of which the patch carries no content (``Binary files differ``).
    """

    path: str
    old_path: str
    kind: Kind
    binary: bool = False
    has_data: bool = True
    raw: bytes = b""
    raw_old: bytes = b""


@dataclass(frozen=True, slots=True)
class PatchFacts:
    """The files of a patch in order, and what is wrong with it as far as reading it can tell."""

    files: tuple[PatchFile, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that is named, old ones of renames included, each once, in order."""
        return tuple(dict.fromkeys(name for file in self.files for name in (file.old_path, file.path)))

    @property
    def raw_paths(self) -> tuple[bytes, ...]:
        """As `paths`, the exact bytes."""
        return tuple(dict.fromkeys(name for file in self.files for name in (file.raw_old, file.raw)))


def normalise(patch: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The patch with a final newline and without a byte order mark, and what was done; mostly nothing.

    Models drop the final newline, and ``git apply`` then calls the patch corrupt (SWE-bench#345); a mark before the
    first header hides it. Nothing else is repaired: every other byte may be meant.
    """
    done: list[str] = []
    if patch.startswith((_MARK + b"diff ", _MARK + b"--- ")):
        patch = patch.removeprefix(_MARK)
        done.append("byte_order_mark")
    if patch and not patch.endswith(b"\n"):
        patch += b"\n"
        done.append("final_newline")
    return patch, tuple(done)


def describe(patch: bytes) -> PatchFacts:
    """Which files ``patch`` names. Total: any bytes give facts, what cannot be read is a problem. Linear."""
    reader = _Reader()
    for number, line in enumerate(patch.split(b"\n"), 1):
        reader.feed(number, line)
    return reader.facts()


def miscounted(patch: bytes) -> bool:
    """Whether the header of a hunk tells another number of lines than stand below it. Total, linear.

    A last hunk that is short and ends with a change may have been cut off: then no count can be trusted.
    """
    reader = _Reader()
    after = False
    for number, line in enumerate(patch.rstrip(b"\n").split(b"\n"), 1):
        if after and line[:1] in (b"+", b"-", b" ") and line != b"-- " and not line.startswith(b"--- "):
            return True  # more lines than the header says; "-- " begins the signature of a mailed patch
        inside = reader.in_hunk
        reader.feed(number, line)
        after = inside and not reader.in_hunk
        if inside and not reader.counts_hold:
            return True
    return reader.in_hunk and patch.rstrip(b"\n").rpartition(b"\n")[2][:1] in (b" ", b"\\", b"")


def added_lines(patch: bytes) -> dict[str, bytes]:
    """By path, the text of the lines that ``patch`` adds, without their signs. Total, linear."""
    reader = _Reader()
    found: dict[str, list[bytes]] = {}
    for number, line in enumerate(patch.split(b"\n"), 1):
        inside = reader.in_hunk
        reader.feed(number, line)
        if inside and line.startswith(b"+"):
            found.setdefault(reader.current, []).append(line[1:])
    return {path: b"\n".join(lines) for path, lines in found.items()}


def is_inside(path: bytes) -> bool:
    """Whether a named path stays inside the tree and out of git's own directory."""
    parts = path.split(b"/")
    return (
        bool(path)
        and not path.startswith(b"/")
        and b"\0" not in path
        and not {b"..", b""} & set(parts)
        and (parts[0].lower() != b".git")
    )


@dataclass(slots=True)
class _Section:
    """One file's part of a patch while it is read."""

    line: int
    header: tuple[bytes, bytes] | None = None
    old: bytes | None = None
    new: bytes | None = None
    words: dict[bytes, bytes] = field(default_factory=dict)
    hunks: int = 0
    binary: bool = False
    stub: bool = False

    def names(self) -> tuple[bytes, bytes] | None:
        """Old and new name without their prefix; `NOWHERE` where there is none."""
        for kind in (b"rename", b"copy"):
            moved = self.words.get(kind + b" from"), self.words.get(kind + b" to")
            if moved[0] is not None and moved[1] is not None:
                return moved[0], moved[1]
        if self.old is not None and self.new is not None:
            return without_prefix(self.old), without_prefix(self.new)
        if self.header is not None:
            return without_prefix(self.header[0]), without_prefix(self.header[1])
        return None

    def kind(self, old: bytes, new: bytes) -> Kind:
        if b"new file mode" in self.words or old == NOWHERE:
            return "added"
        if b"deleted file mode" in self.words or new == NOWHERE:
            return "deleted"
        if b"rename from" in self.words:
            return "renamed"
        if b"copy from" in self.words:
            return "copied"
        if b"new mode" in self.words and not self.hunks and not self.binary:
            return "mode"
        return "modified"

    def file(self) -> PatchFile | None:
        names = self.names()
        if names is None or names == (NOWHERE, NOWHERE):
            return None
        old, new = names
        kind = self.kind(old, new)
        old, new = (new if old == NOWHERE else old), (old if new == NOWHERE else new)
        return PatchFile(
            path=shown(new),
            old_path=shown(old),
            kind=kind,
            binary=self.binary,
            has_data=not self.stub,
            raw=new,
            raw_old=old,
        )


class _Reader:
    """Reads a patch line by line: inside a hunk lines are counted, outside they are headers or prose."""

    def __init__(self) -> None:
        self._files: list[PatchFile] = []
        self._problems: list[str] = []
        self._section: _Section | None = None
        self._minus: tuple[int, bytes] | None = None
        self._removed = 0
        self._added = 0
        self.counts_hold = True

    def feed(self, number: int, line: bytes) -> None:
        if self._removed or self._added:
            if self._hunk_line(line):
                return
            self.counts_hold = False
            self._problem(f"line {number}: the hunk before it is shorter than its header says")
            self._removed = self._added = 0
        self._header_line(number, line)

    @property
    def in_hunk(self) -> bool:
        """Whether the next line belongs to a hunk."""
        return self._removed > 0 or self._added > 0

    @property
    def current(self) -> str:
        """The path of the file whose part is being read."""
        file = self._section.file() if self._section is not None else None
        return file.path if file is not None else ""

    def facts(self) -> PatchFacts:
        if self._removed or self._added:
            self._problem("the last hunk is shorter than its header says")
        self._close()
        if not self._files:
            self._problem("no file is named: this is no diff")
        return PatchFacts(tuple(self._files), tuple(self._problems))

    def _hunk_line(self, line: bytes) -> bool:
        mark = line[:1]
        if mark in (b" ", b"", b"\r"):
            self._removed, self._added = self._removed - 1, self._added - 1
        elif mark == b"-":
            self._removed -= 1
        elif mark == b"+":
            self._added -= 1
        elif mark != b"\\":
            return False
        return self._removed >= 0 and self._added >= 0

    def _header_line(self, number: int, line: bytes) -> None:
        minus, self._minus = self._minus, None
        if line.startswith(b"diff --git "):
            self._close()
            self._section = _Section(number, header=header_names(line[11:]))
        elif line.startswith(b"--- "):
            self._minus = (number, header_name(line[4:]))
        elif line.startswith(b"+++ ") and minus is not None:
            self._names(minus, header_name(line[4:]))
        elif line.startswith(b"@@"):
            self._hunk(number, line)
        elif self._section is not None and not self._section.hunks:
            self._extended(self._section, line)

    def _names(self, minus: tuple[int, bytes], new: bytes) -> None:
        section = self._section
        if section is None or section.old is not None or section.hunks:
            self._close()
            section = self._section = _Section(minus[0])
        section.old, section.new = minus[1], new

    def _hunk(self, number: int, line: bytes) -> None:
        found = _HUNK.match(line)
        if found is None or self._section is None:
            self._problem(
                f"line {number}: " + ("a hunk without a file" if found else "a hunk header that cannot be read")
            )
            return
        self._section.hunks += 1
        self._removed, self._added = (int(count) if count is not None else 1 for count in found.groups())

    def _extended(self, section: _Section, line: bytes) -> None:
        line = line.rstrip(b"\r")
        if line == b"GIT binary patch":
            section.binary = True
        elif line.startswith(b"Binary files ") and line.endswith(b" differ"):
            section.binary = section.stub = True
        for word in (b"old mode", b"new mode", b"new file mode", b"deleted file mode"):
            if line.startswith(word + b" "):
                section.words[word] = line[len(word) + 1 :]
        for word in (b"rename from", b"rename to", b"copy from", b"copy to"):
            if line.startswith(word + b" "):
                section.words[word] = header_name(line[len(word) + 1 :])

    def _close(self) -> None:
        section, self._section = self._section, None
        if section is None:
            return
        file = section.file()
        if file is None:
            self._problem(f"line {section.line}: the name of the file cannot be read")
            return
        self._files.append(file)
        if not file.has_data:
            self._problem(f"{file.path}: binary, and the patch carries no content of it")
        for name in dict.fromkeys((file.raw_old, file.raw)):
            if not is_inside(name):
                self._problem(f"{shown(name)}: outside the tree")

    def _problem(self, text: str) -> None:
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(text)


def nested_names(facts: PatchFacts) -> tuple[bytes, ...]:
    """Names below another name of the same patch: behind a link, if that other one is or becomes one."""
    names = set(facts.raw_paths)
    return tuple(
        name
        for name in facts.raw_paths
        if any(name[:end] in names for end in range(len(name)) if name[end : end + 1] == b"/")
    )

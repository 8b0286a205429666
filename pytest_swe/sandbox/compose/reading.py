"""A compose file as plain data. It is hostile: bounded in size, depth and what its aliases unfold to.

Every scalar stays the text that it is written as, so nothing depends on how one reader of YAML or another understands
``on``, ``0755`` or ``1.10``; who needs a number or a flag reads it from the text.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from pytest_swe.errors import RowInvalid
from pytest_swe.sandbox.compose.spot import Value

#: Bytes of a file, values in it with aliases unfolded, and values inside of values.
LARGEST = 256 * 1024
MOST = 20_000
DEEPEST = 20

_NULL = "tag:yaml.org,2002:null"
_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """Knows texts, nothing, merge keys, lists and mappings; no key may be there twice."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as its base has it
        "~": [(_NULL, yaml.SafeLoader.yaml_implicit_resolvers["~"][0][1])],
        "n": [(_NULL, yaml.SafeLoader.yaml_implicit_resolvers["~"][0][1])],
        "N": [(_NULL, yaml.SafeLoader.yaml_implicit_resolvers["~"][0][1])],
        "": [(_NULL, yaml.SafeLoader.yaml_implicit_resolvers["~"][0][1])],
        "<": [(_MERGE, yaml.SafeLoader.yaml_implicit_resolvers["<"][0][1])],
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key, _ in node.value:
            if key.tag != _MERGE and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is there twice", key.start_mark)
            seen.add(key.value if isinstance(key.value, str) else id(key))
        return super().construct_mapping(node, deep)


def read_compose(path: Path) -> dict[str, Value]:
    """The file's root mapping. Raises RowInvalid, with the line where there is one."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise RowInvalid(f"cannot be read: {error.strerror}", path=path) from error
    if len(raw) > LARGEST:
        raise RowInvalid(f"larger than {LARGEST} bytes", path=path)
    try:
        found = yaml.load(raw.decode("utf-8"), _Loader)
    except UnicodeDecodeError as error:
        raise RowInvalid("not UTF-8", path=path) from error
    except RecursionError as error:
        raise RowInvalid("too many values inside of values", path=path) from error
    except yaml.YAMLError as error:
        raise _unreadable(path, error) from error
    value = _Plain(path).of(found, 0)
    if not isinstance(value, dict):
        raise RowInvalid("expected a mapping with the key services", path=path)
    return value


def _unreadable(path: Path, error: yaml.YAMLError) -> RowInvalid:
    mark = getattr(error, "problem_mark", None)
    said = " ".join(str(getattr(error, "problem", None) or error).split())
    return RowInvalid(f"not YAML that can be used: {said}", path=path, line=mark.line + 1 if mark else 0)


class _Plain:
    """Copies what YAML gave into trees, so that no two places share a value, and counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._count = 0

    def of(self, value: object, depth: int) -> Value:
        self._count += 1
        if self._count > MOST or depth > DEEPEST:
            raise RowInvalid("too many values", path=self._path)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, list):
            return [self.of(item, depth + 1) for item in value]
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {str(key): self.of(item, depth + 1) for key, item in value.items()}
        raise RowInvalid(f"a key or value of a kind that no compose file has ({type(value).__name__})", path=self._path)

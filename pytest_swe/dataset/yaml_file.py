"""A YAML mapping with its words kept: a version 3.10, a commit of digits and a date stay the text that was written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_swe.errors import RowInvalid

if TYPE_CHECKING:
    from yaml import Node

_TEXT = frozenset(
    "instance_id repo version base_commit environment_setup_commit commit export image created_at log_parser "
    "eval_type split difficulty".split()
)
_STR = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"


def load_yaml(path: Path, raw: bytes | None = None) -> Mapping[str, object]:
    """The mapping in ``path`` (or in ``raw``, already read). Raises RowInvalid with the line when it is none."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(path.read_bytes() if raw is None else raw)
    try:
        node = loader.get_single_node()
        if node is not None:
            _keep_words(node, set())
        found = loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise RowInvalid(f"not YAML: {error.problem or error.context}", path=path, line=line) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first_line = str(error).partition("\n")[0]
        raise RowInvalid(f"not YAML: {first_line}", path=path) from error
    finally:
        loader.dispose()
    if not isinstance(found, dict):
        raise RowInvalid("expected keys and values", path=path)
    return found


def _keep_words(node: Node, seen: set[int]) -> None:
    import yaml

    # Aliases share nodes: each is visited once, however often it is named.
    if not isinstance(node, yaml.MappingNode) or id(node) in seen:
        return
    seen.add(id(node))
    for key, value in node.value:
        _keep_words(value, seen)
        if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.ScalarNode) or value.tag == _NULL:
            continue
        if key.value in _TEXT or value.tag.endswith(":timestamp"):
            value.tag = _STR

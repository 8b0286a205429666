"""Paths of this host in texts that are handed on."""

from __future__ import annotations

import pytest

from pytest_swe.host_paths import HostPaths

PATHS = HostPaths(("/home/me/bench/tasks", "/home/me/bench", "/data", "/"), "/home/me")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/me/bench/tasks/b/task.toml:2: agent: expected", "b/task.toml:2: agent: expected"),
        ("/home/me/bench/tasks: no file", "tasks: no file"),
        ("/home/me/bench/tasks/ is empty", "tasks/ is empty"),
        ("in /home/me/bench/tasks.", "in tasks."),
        ("[Errno 2] No such file: '/home/me/bench/preds.jsonl'", "[Errno 2] No such file: 'preds.jsonl'"),
        ("/home/me/bench/tasks2/x", "tasks2/x"),
        ("/home/me/bench.old/x", "~/bench.old/x"),
        ("/home/me/.cache/x and /home/me", "~/.cache/x and ~"),
        ("/home/mel/x", "/home/mel/x"),
        ("/app/data/x, /data/y", "/app/data/x, y"),
        ("/data/a:/data/b", "a:b"),
        ("/etc/passwd, /", "/etc/passwd, /"),
        ("../data/x", "../data/x"),
        ("", ""),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert PATHS.shown(text) == shown


def test_every_text_of_a_value_and_no_name() -> None:
    value = ({"/data/x": ["/data/x", 1, None]},)
    assert PATHS.shown_in(value) == [{"/data/x": ["x", 1, None]}]


def test_where_there_is_only_the_root_nothing_is_hidden() -> None:
    assert HostPaths(("/",), "/").shown("/ and /x") == "/ and /x"

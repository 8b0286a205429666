"""Data sets by hub name, with the real client against a server on this machine."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pytest_swe.dataset.hub import HubName, hub_name
from pytest_swe.dataset.source import open_dataset
from pytest_swe.errors import UsageError

REVISION = "a1b2c3d4" * 5
REPO = "SWE-bench/SWE-bench_Verified"


def _parquet(*ids: str) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([{"instance_id": i, "repo": "a/a", "patch": "é\r\n"} for i in ids]), sink)
    return sink.getvalue()


class Hub:
    """Serves one data set as the Hugging Face hub does, and counts what it is asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {
            "README.md": b"# x",
            "data/test-00000-of-00002.parquet": _parquet("a__a-1", "a__a-2"),
            "data/test-00001-of-00002.parquet": _parquet("b__b-3"),
            "data/test-hard-00000-of-00001.parquet": _parquet("h__h-1"),
            "dev.parquet": _parquet("d__d-1"),
        }
        self.requests: list[str] = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path: str) -> tuple[bytes, dict[str, str]] | None:
        """Body and headers for a path, or None when there is no such thing."""
        path = path.partition("?")[0]
        if path in (f"/api/datasets/{REPO}/revision/main", f"/api/datasets/{REPO}/revision/{REVISION}"):
            siblings = [{"rfilename": name} for name in self.files]
            return json.dumps({"id": REPO, "sha": REVISION, "siblings": siblings}).encode(), {}
        if path == f"/api/datasets/{REPO}/tree/{REVISION}":
            tree = [{"type": "file", "path": name, "size": len(raw), "oid": "0"} for name, raw in self.files.items()]
            return json.dumps(tree).encode(), {}
        resolve = f"/datasets/{REPO}/resolve/{REVISION}/"
        if path.startswith(resolve) and path.removeprefix(resolve) in self.files:
            raw = self.files[path.removeprefix(resolve)]
            return raw, {"X-Repo-Commit": REVISION, "ETag": f'"{hashlib.sha256(raw).hexdigest()}"'}
        return None

    def _handler(hub: Hub) -> type[http.server.BaseHTTPRequestHandler]:
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.requests.append(self.path)
                found = hub.answer(self.path)
                body, headers = found or (b"{}", {"X-Error-Code": "RepoNotFound"})
                self.send_response(200 if found else 404)
                for key, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(key, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *args: object) -> None:
                return None

        return Handler


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()
    thread = threading.Thread(target=hub.server.serve_forever)
    thread.start()
    yield hub
    hub.server.shutdown()
    hub.server.server_close()
    thread.join()


SCRIPT = """
import json, sys
from pytest_swe.dataset.source import dataset_path, open_dataset
from pytest_swe.errors import UsageError
out = []
for name, split in json.loads(sys.argv[1]):
    try:
        path = str(dataset_path(name, split=split))
        dataset = open_dataset(path, split=split)
        assert open_dataset(name, split=split).refs == dataset.refs
        out.append({"ids": [r.instance_id for r in dataset.refs], "name": dataset.name, "path": path,
                    "patch": dataset.load(dataset.refs[0])["patch"]})
    except UsageError as error:
        out.append({"error": str(error)})
print(json.dumps(out))
"""


def _ask(tmp_path: Path, url: str, *names: tuple[str, str | None], **extra: str) -> list[dict[str, Any]]:
    """What open_dataset says of the names, in a process of its own: the client reads HF_ENDPOINT once."""
    env = {
        **os.environ,
        "HF_ENDPOINT": url,
        "HF_HOME": str(tmp_path / "hf"),
        "PYTEST_SWE_CACHE_DIR": str(tmp_path / "cache"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        **extra,
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(names)], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_names_and_splits(tmp_path: Path, hub: Hub) -> None:
    found = _ask(
        tmp_path,
        hub.url,
        ("verified", None),
        (REPO, "dev"),
        (f"{REPO}:dev", "test"),
        (f"{REPO}:train", None),
        ("o/missing", None),
        (f"{REPO}@{REVISION}", None),
    )
    assert found[0]["ids"] == ["a__a-1", "a__a-2", "b__b-3"]
    assert found[0]["patch"] == "é\r\n"
    assert found[0]["name"] == f"SWE-bench_Verified-test-{REVISION[:12]}"
    assert found[1]["ids"] == found[2]["ids"] == ["d__d-1"]
    assert "no parquet files of a split 'train'" in found[3]["error"]
    assert "o/missing: no such data set on the hub" in found[4]["error"]
    assert found[5] == found[0]
    assert not [path for path in hub.requests if "README" in path or "test-hard" in path]


def test_a_name_is_asked_for_once_and_works_without_a_network(tmp_path: Path, hub: Hub) -> None:
    first = _ask(tmp_path, hub.url, ("verified", None))
    asked = len(hub.requests)
    assert _ask(tmp_path, hub.url, ("verified", None)) == first
    assert len(hub.requests) == asked
    # The note of the last hour is gone: the client's own cache answers.
    for note in (tmp_path / "cache").glob("hub-*.json"):
        note.unlink()
    assert _ask(tmp_path, hub.url, ("verified", None), HF_HUB_OFFLINE="1") == first
    assert len(hub.requests) == asked


def test_a_split_in_two_places_is_refused(tmp_path: Path, hub: Hub) -> None:
    hub.files["other/test-00000-of-00001.parquet"] = _parquet("x-1")
    assert "several configurations: data, other" in _ask(tmp_path, hub.url, ("verified", None))[0]["error"]


def test_no_network_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    for extra in ({}, {"HF_HUB_OFFLINE": "1"}):
        error = _ask(tmp_path, "http://127.0.0.1:9", ("verified", None), **extra)[0]["error"]
        assert error.startswith(f"{REPO} is no path here, and cannot be fetched from the hub: ")
        assert error.endswith("(check the path, or fetch it once with a network)")
        assert "\n" not in error


@pytest.mark.parametrize(
    ("name", "split", "expected"),
    [
        ("verified", None, HubName(REPO, "test", "main")),
        ("Verified:dev", None, HubName(REPO, "dev", "main")),
        ("lite", "dev", HubName("SWE-bench/SWE-bench_Lite", "dev", "main")),
        ("full", None, HubName("SWE-bench/SWE-bench", "test", "main")),
        ("multilingual", None, HubName("SWE-bench/SWE-bench_Multilingual", "test", "main")),
        ("multimodal:dev@v1", None, HubName("SWE-bench/SWE-bench_Multimodal", "dev", "v1")),
        ("o/n.x", None, HubName("o/n.x", "test", "main")),
        ("o/n@refs/pr/1", None, HubName("o/n", "test", "refs/pr/1")),
        ("other", None, None),
        ("o/n.jsonl", None, None),
        ("./o", None, None),
        ("../o", None, None),
        ("/o/n", None, None),
        ("a/b/c", None, None),
        ("o/n::id", None, None),
        ("", None, None),
    ],
)
def test_what_is_a_hub_name(name: str, split: str | None, expected: HubName | None) -> None:
    assert hub_name(name, split) == expected


def test_a_path_comes_before_a_hub_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "verified").write_text('{"instance_id": "mine-1"}\n')
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "quickstart").write_text('{"instance_id": "mine-2"}\n')
    assert open_dataset("verified").refs[0].instance_id == "mine-1"
    with pytest.raises(UsageError, match="did you mean 'sets/quickstart'"):
        open_dataset("sets/quickstrat")


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    blocked: Any = None
    monkeypatch.setitem(sys.modules, "huggingface_hub", blocked)
    with pytest.raises(UsageError, match=r'pip install "pytest-swe\[hub\]"'):
        open_dataset("o/n")

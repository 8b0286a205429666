"""Descriptions of agents: what is filled in, how each is told MCP servers, and what a kit leaves in a directory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pytest_swe.agent.base import McpServer
from pytest_swe.agent.described import Description, _filled, described, described_names
from pytest_swe.agent.kit_making import kit_named, make_kit
from pytest_swe.agent.mcp import Shape, told
from pytest_swe.errors import UsageError

HTTP = McpServer(name="user", transport="streamable-http", url="http://u:1/mcp", headers={"X": 'a"b'})
STDIO = McpServer(name="dot.ted", transport="stdio", command="serve", args=("--x", "é🙂"))


@pytest.mark.parametrize("name", described_names())
def test_each_description_is_whole(name: str) -> None:
    found = described(name).description
    assert found.kit is not None
    assert set(found.kit.whole) <= set(found.kit.npm)
    for script in (found.install.check, found.install.script, found.run.script):
        subprocess.run(["sh", "-n", "-c", f"{{ {script}\n}} 2>&1"], check=True)


def test_words_are_filled_once() -> None:
    words = {"instruction": "{model} {json:key}", "model": "m", "key": 'k"'}
    assert _filled('{instruction} {json:key} {"a": {}} {none} ${model}', words) == (
        '{model} {json:key} "k\\"" {"a": {}} {none} $m'
    )


@pytest.mark.parametrize("shape", ["claude", "opencode", "transport", "mcpServers"])
def test_servers_are_told_as_json(shape: Shape) -> None:
    found = json.loads(told([HTTP, STDIO], shape))
    servers = found["mcpServers"] if shape in ("claude", "mcpServers") else found
    assert servers["user"]["url"] == "http://u:1/mcp"
    assert servers["user"]["headers"] == {"X": 'a"b'}
    command = servers["dot.ted"]["command"]
    assert (command if isinstance(command, list) else [command, *servers["dot.ted"]["args"]]) == ["serve", "--x", "é🙂"]


def test_servers_are_told_as_toml() -> None:
    assert tomllib.loads(told([HTTP, STDIO], "codex")) == {
        "mcp_servers": {
            "user": {"url": "http://u:1/mcp", "http_headers": {"X": 'a"b'}},
            "dot.ted": {"command": "serve", "args": ["--x", "é🙂"]},
        }
    }
    assert told([], "codex") == ""


def description(*packages: str) -> Description:
    return Description.model_validate(
        {
            "about": "x",
            "protocols": ["openai"],
            "kit": {"pip": packages, "without": ["site/*.dist-info"]},
            "install": {"check": "true"},
            "run": {"script": "true"},
        }
    )


def test_a_kit_runs_its_modules_and_nothing_beside_them(tmp_path: Path) -> None:
    package = tmp_path / "src"
    package.mkdir()
    (package / "tiny_agent.py").write_text("import sys; print(sys.argv[1:], sys.flags.isolated)\n")
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "back"\nbackend-path = ["."]\n'
        '[project]\nname = "tiny-agent"\nversion = "1"\n'
    )
    (package / "back.py").write_text(
        "import zipfile\n"
        "def build_wheel(directory, *rest):\n"
        "    with zipfile.ZipFile(directory + '/tiny_agent-1-py3-none-any.whl', 'w') as wheel:\n"
        "        wheel.write('tiny_agent.py')\n"
        "        info = 'tiny_agent-1.dist-info/'\n"
        "        wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny-agent\\nVersion: 1\\n')\n"
        "        wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n"
        "        wheel.writestr(info + 'RECORD', '')\n"
        "    return 'tiny_agent-1-py3-none-any.whl'\n"
    )
    place = make_kit("tiny", description(str(package)), tmp_path / "kits", python=sys.executable)
    assert sorted(path.name for path in place.iterdir()) == ["python", "site", "swe-kit.json"]
    assert not [*place.glob("site/*.dist-info")]
    (tmp_path / "tiny_agent.py").write_text("raise SystemExit('not this one')\n")
    env = {"PATH": str(Path(sys.executable).parent), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [str(place / "python"), "tiny_agent", "a b"],
        cwd=tmp_path,
        env=env | {"PATH": env["PATH"] + ":/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("['a b'] 1\n", 0), done.stderr
    with pytest.raises(UsageError, match="is there already"):
        make_kit("tiny", description(str(package)), tmp_path / "kits", python=sys.executable)


def test_a_kit_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pip install"):
        make_kit("tiny", description(str(tmp_path / "nowhere")), tmp_path / "kits", python=sys.executable)
    assert [*(tmp_path / "kits").iterdir()] == []
    said = f"pip install: Invalid requirement: {str(tmp_path / 'nowhere')!r}"
    with pytest.raises(UsageError, match=re.escape(said)) as caught:
        make_kit("tiny", description(str(tmp_path / "nowhere")), tmp_path / "kits", python=sys.executable)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="making this kit needs"):
        make_kit("tiny", description("x"), tmp_path / "kits", python=str(tmp_path / "no-python"))
    with pytest.raises(UsageError, match="did you mean 'codex'"):
        kit_named("codx", tmp_path, python=sys.executable)

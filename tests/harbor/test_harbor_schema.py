"""task.toml: the whole schema, what is refused with which words, and what is warned of."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_swe.errors import RowInvalid
from pytest_swe.harbor.parse import parse
from pytest_swe.harbor.schema import TaskConfig

PATH = Path("task.toml")


def read(text: str) -> TaskConfig:
    return parse(text.encode(), PATH)[0]


def warnings(text: str) -> tuple[str, ...]:
    return parse(text.encode(), PATH)[1]


WHOLE = """
schema_version = "1.4"
source = "here"
multi_step_reward_strategy = "final"
artifacts = ["/app/out", {source = "/data", service = "side", destination = "sub/data", exclude = ["*.pyc"]}]
[task]
name = "org/a-task"
version = "1.2.3"
authors = [{name = "A", email = "a@b"}, {name = "B"}]
keywords = ["k"]
[metadata]
anything = {goes = [1, "x"]}
[agent]
timeout_sec = 60
user = 1000
network_mode = "allowlist"
allowed_hosts = ["API.Example.com", "*.example.org", "10.0.0.0/8", "::1"]
[verifier]
timeout_sec = 30.5
user = "judge"
environment_mode = "separate"
env = {A = "${B:-c}"}
[[verifier.collect]]
command = "true"
service = "side"
[verifier.environment]
docker_image = "judge:1"
[solution]
env = {S = "1"}
[environment]
build_timeout_sec = 10
docker_image = "agent:1"
os = "Linux"
cpus = 2.0
memory_mb = 512
storage_mb = 100
gpus = 0
gpu_types = ["h100"]
tpu = {type = "v5", topology = "2x4"}
workdir = "/app"
skills_dir = "/skills"
env = {X = "y"}
[[environment.mcp_servers]]
name = "user"
transport = "http"
url = "http://user:8000/mcp"
headers = {Authorization = "${TOKEN}", Accept = "text/plain"}
[environment.healthcheck]
command = "true"
retries = 1
[[steps]]
name = "one"
min_reward = {x = 1, y = 0.5}
artifacts = ["rel/ative"]
[steps.agent]
timeout_sec = 5
[steps.verifier]
env = {A = "step"}
[steps.healthcheck]
command = "false"
"""


def test_every_field_is_read() -> None:
    config = read(WHOLE)
    assert warnings(WHOLE) == ()
    assert config.artifacts[0].source == "/app/out"
    assert (config.artifacts[1].service, config.artifacts[1].destination) == ("side", "sub/data")
    assert config.agent.allowed_hosts == ("api.example.com", "*.example.org", "10.0.0.0/8", "::1")
    assert config.environment.os == "linux"
    assert config.environment.mcp_servers[0].transport == "streamable-http"
    assert config.environment.healthcheck is not None
    assert config.environment.healthcheck.interval_sec == 5
    assert config.steps[0].min_reward == {"x": 1.0, "y": 0.5}
    assert config.verifier.collect[0].timeout_sec == 60
    assert config.strategy == "final"


def test_what_was_not_given_can_be_told_from_a_default() -> None:
    config = read("[environment]\nbuild_timeout_sec = 600.0\n")
    assert config.environment.model_fields_set == {"build_timeout_sec"}
    assert config.verifier.timeout_sec is None
    assert config.agent.timeout_sec is None
    assert config.environment.cpus is None
    assert config.environment.memory_mib is None
    assert config.multi_step_reward_strategy is None


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ('version = "1.0"', "schema_version", "1.0"),
        ('[environment]\nmemory = "2G"', "environment.memory_mib", 2048),
        ('[environment]\nmemory = "512M"', "environment.memory_mib", 512),
        ('[environment]\nmemory = "1500K"', "environment.memory_mib", 2),
        ('[environment]\nstorage = "10G"', "environment.storage_mib", 10240),
        ("[environment]\nallow_internet = false", "environment.mode", "no-network"),
        ("[environment]\nallow_internet = true", "environment.mode", "public"),
        ("", "environment.mode", "public"),
        ("[verifier.environment]\ncpus = 1", "verifier.mode", "separate"),
        ("", "verifier.mode", None),
    ],
)
def test_old_spellings_and_what_follows_from_others(text: str, field: str, value: object) -> None:
    found: object = read(text)
    for name in field.split("."):
        found = getattr(found, name)
    assert found == value
    assert warnings(text) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "task.toml: not TOML: "),
        ('a = "b"\nc = = 1', "task.toml:2: not TOML: Invalid value"),
        ('[agent]\ntimeout_sec = "abc"', "task.toml:2: agent.timeout_sec: expected a number, got the string 'abc'"),
        ("[agent]\ntimeout_sec = true", "agent.timeout_sec: expected a number, got true"),
        ("[agent]\ntimeout_sec = 0", "agent.timeout_sec: expected greater than 0, got the number 0"),
        ("[verifier]\ntimeout_sec = nan", "verifier.timeout_sec: expected a finite number, got the number nan"),
        (
            '[environment]\nnetwork_mode = "no-netwrk"',
            "task.toml:2: environment.network_mode: expected 'no-network', 'public' or 'allowlist', got 'no-netwrk'; "
            "did you mean 'no-network'?",
        ),
        ('[agent]\nallowed_hosts = ["a.b"]', "agent: allowed_hosts counts only together with network_mode"),
        (
            '[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["https://a.b/"]',
            "agent.allowed_hosts[0]: expected a host name, *.name, an address or a network without scheme, port and "
            "path, got 'https://a.b/'",
        ),
        ('[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a.b:80"]', "agent.allowed_hosts[0]: expected a host"),
        ('[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["10.0.0.1/8"]', "allowed_hosts[0]: expected a host"),
        ('[environment]\nmemory = "2G"\nmemory_mb = 2048', "environment: memory and memory_mb are the same"),
        ('[environment]\nmemory = "much"', "expected a size such as '2G' or '512M', got 'much'"),
        ('[environment]\nallow_internet = false\nnetwork_mode = "public"', "allow_internet = false contradicts"),
        ('[environment]\nos = "plan9"', "environment.os: expected 'linux' or 'windows', got 'plan9'"),
        ("[environment]\ncpus = nan", "environment.cpus: expected"),
        ('[environment.tpu]\ntype = "v5"\ntopology = "2by4"', "environment.tpu.topology: expected a topology"),
        ("[environment]\nenv = {A = 1}", "environment.env.A: expected a string, got the number 1"),
        ('[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\ncpus = 1', "verifier: environment_mode ="),
        ("[[verifier.collect]]\nservice = 'x'", "verifier.collect[0].command: expected a value, got none"),
        ('artifacts = ["/a/../b"]', "artifacts[0]: expected a path in the container without '..'"),
        ('artifacts = [{source = "/a", destination = "/b"}]', "artifacts[0].destination: expected a relative path"),
        ('artifacts = [{source = "/a", destination = "a\\\\b"}]', "artifacts[0].destination: expected a relative path"),
        ('artifacts = [{source = "/a", destination = "./manifest.json"}]', "that is not manifest.json"),
        ('artifacts = [{source = "a", service = "s"}]', "artifacts[0]: expected an absolute path in the service 's'"),
        ('[[environment.mcp_servers]]\nname = "a"', 'mcp_servers[0]: a server with transport "sse" needs a url'),
        (
            '[[environment.mcp_servers]]\nname = "a"\ntransport = "stdio"',
            'a server with transport "stdio" needs a command',
        ),
        (
            '[[environment.mcp_servers]]\nname = "a"\nurl = "u"\nheaders = {X-Api-Key = "abc"}',
            "the header 'X-Api-Key' carries a credential: write ${NAME}, without a default",
        ),
        (
            '[[environment.mcp_servers]]\nname = "a"\nurl = "u"\nheaders = {authorization = "${A:-b}"}',
            "the header 'authorization' carries a credential",
        ),
        ('[task]\nname = "plain"', "task.name: expected org/name"),
        ('[task]\nname = "a/b..c"', "task.name: expected org/name"),
        ('[task]\ndescription = "x"', "task.name: expected a value, got none"),
        ('[[steps]]\nname = "a/b"', "steps[0].name: expected a name that a directory can have"),
        ('[[steps]]\nname = "con.txt"', "steps[0].name: expected a name that a directory can have"),
        ('[[steps]]\nname = ".."', "steps[0].name: expected a name that a directory can have"),
        ('[[steps]]\nname = "Caf\\u00e9"\n[[steps]]\nname = "cafe\\u0301"', "two steps are called"),
        ('[[steps]]\nname = "a"\nmin_reward = "high"', "steps[0].min_reward: expected a number, got the string 'high'"),
        ('multi_step_reward_strategy = "max"', "multi_step_reward_strategy: expected 'mean' or 'final', got 'max'"),
        ("[environment.healthcheck]\ncommand = ''", "environment.healthcheck.command: expected"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(RowInvalid) as refused:
        read(text)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(RowInvalid, match=r"task\.toml: not UTF-8 \(byte 2\)"):
        parse(b"a=\xff", PATH)
    assert parse(b'\xef\xbb\xbfversion = "1.0"\r\n', PATH)[0].schema_version == "1.0"
    with pytest.raises(RowInvalid, match="not TOML"):
        parse(b"a = " + b"[" * 100_000, PATH)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[agent]\ntimeout = 5", "task.toml: agent.timeout is not read: did you mean timeout_sec?"),
        ("[agnt]\n", "task.toml: agnt is not read: did you mean agent?"),
        (
            "[environment]\nartifacts = []",
            "task.toml: environment.artifacts is not read: artifacts is a key of the whole file, it must stand above "
            "the first [table]",
        ),
        ('[[steps]]\nname = "a"\n[steps.agent]\nxyzzy = 1', "task.toml: steps[0].agent.xyzzy is not read; known here"),
        ("[verifier.environment]\nimage = 'x'", "task.toml: verifier.environment.image is not read"),
        ('multi_step_reward_mode = "final"', "is not read: write multi_step_reward_strategy"),
        ("[[verifier.collect]]\ncommand = 'x'\ntimeout_seconds = 1", "task.toml: verifier.collect[0].timeout_seconds"),
    ],
)
def test_a_key_that_nobody_reads_is_warned_of(text: str, message: str) -> None:
    assert len(warnings(text)) == 1
    assert warnings(text)[0].startswith(message) or message in warnings(text)[0]


def test_metadata_is_free() -> None:
    assert warnings("[metadata]\na.b.c = 1\n[metadata.harbor.lint]\nignore = []\n") == ()

"""``task.toml`` of Harbor, schema 1.0 to 1.4, as frozen models.

Names, types and defaults are those of Harbor 0.25.0. The schema only grew, so the version in a file decides nothing. A
key that is not known is kept in ``model_extra``. What was not given can be told from a default: it is None, or not in
``model_fields_set``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from pytest_swe.harbor.fields import (
    Command,
    Count,
    Destination,
    Host,
    LowerCase,
    Number,
    PackageName,
    Pause,
    Processors,
    Seconds,
    Some,
    Source,
    StepName,
    Topology,
    TransportAlias,
    mebibytes,
    no_credentials,
    same_name,
)

NetworkMode = Literal["no-network", "public", "allowlist"]
VerifierMode = Literal["shared", "separate"]
Strategy = Literal["mean", "final"]
User = str | Annotated[int, Field(ge=0)]

#: Limits of Harbor 0.25.0 where a task gives none; an agent then has none at all.
VERIFIER_SECONDS = 600.0
BUILD_SECONDS = 600.0
#: The service that the agent works in.
MAIN = "main"


class Table(BaseModel):
    """A table of ``task.toml``."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)


class NetworkTable(Table):
    """A table that may change the network of a phase."""

    network_mode: NetworkMode | None = None
    allowed_hosts: tuple[Host, ...] | None = None

    @model_validator(mode="after")
    def _hosts_need_the_mode(self) -> Self:
        if self.allowed_hosts is not None and self.network_mode != "allowlist":
            raise ValueError('allowed_hosts counts only together with network_mode = "allowlist"')
        return self


class HealthCheck(Table):
    """How a container is asked whether it is ready; times in seconds."""

    command: Command
    interval_sec: Pause = 5.0
    timeout_sec: Seconds = 30.0
    start_period_sec: Pause = 0.0
    start_interval_sec: Pause = 5.0
    retries: Some = 3


class McpServerTable(Table):
    """A server of the Model Context Protocol that the task offers to the agent."""

    name: Annotated[str, Field(min_length=1)]
    transport: Annotated[Literal["stdio", "sse", "streamable-http"], TransportAlias] = "sse"
    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    headers: Mapping[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.transport == "stdio":
            if not self.command:
                raise ValueError('a server with transport "stdio" needs a command')
            if self.headers:
                raise ValueError("headers are for servers that speak HTTP")
        elif not self.url:
            raise ValueError(f'a server with transport "{self.transport}" needs a url')
        no_credentials(self.headers)
        return self


class Artifact(Table):
    """A file or directory that is kept: ``source`` in the container of ``service``."""

    source: Source
    destination: Destination | None = None
    exclude: tuple[str, ...] = ()
    service: str | None = None

    @model_validator(mode="after")
    def _absolute_in_sidecars(self) -> Self:
        if self.service not in (None, MAIN) and not self.source.startswith("/"):
            raise ValueError(f"expected an absolute path in the service {self.service!r}, got {self.source!r}")
        return self


def _as_table(value: object) -> object:
    return {"source": value} if isinstance(value, str) else value


Artifacts = tuple[Annotated[Artifact, BeforeValidator(_as_table)], ...]


class Tpu(Table):
    """A slice of TPUs."""

    type: str
    topology: Topology


class EnvironmentTable(NetworkTable):
    """A container: of the agent, or of a separate verifier. Sizes in MiB, times in seconds."""

    build_timeout_sec: Seconds = BUILD_SECONDS
    docker_image: str | None = None
    os: Annotated[Literal["linux", "windows"], LowerCase] = "linux"
    cpus: Processors | None = None
    memory_mb: Some | None = None
    storage_mb: Count | None = None
    gpus: Count | None = None
    gpu_types: tuple[str, ...] | None = None
    tpu: Tpu | None = None
    mcp_servers: tuple[McpServerTable, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    skills_dir: str | None = None
    healthcheck: HealthCheck | None = None
    workdir: str | None = None
    allow_internet: bool | None = None
    memory: str | None = None
    storage: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        for name, old, new in (("memory", self.memory, self.memory_mb), ("storage", self.storage, self.storage_mb)):
            if old is not None and new is not None:
                raise ValueError(f"{name} and {name}_mb are the same: give {name}_mb alone")
            if old is not None:
                mebibytes(old)
        if self.allow_internet is False and self.network_mode not in (None, "no-network"):
            raise ValueError(f'allow_internet = false contradicts network_mode = "{self.network_mode}"')
        return self

    @property
    def mode(self) -> NetworkMode:
        """The network of the container where a phase says nothing else."""
        return self.network_mode or ("no-network" if self.allow_internet is False else "public")

    @property
    def memory_mib(self) -> int | None:
        """What it may take of memory, in either spelling."""
        return mebibytes(self.memory) if self.memory is not None else self.memory_mb

    @property
    def storage_mib(self) -> int | None:
        """What it may take of disk, in either spelling."""
        return mebibytes(self.storage) if self.storage is not None else self.storage_mb


class AgentTable(NetworkTable):
    """Of the agent's phase; ``timeout_sec`` None is no limit."""

    timeout_sec: Seconds | None = None
    user: User | None = None


class CollectHook(Table):
    """A command in a service after the agent ended, before artifacts are copied."""

    command: Command
    service: str = MAIN
    timeout_sec: Seconds = 60.0
    user: User | None = None


class VerifierTable(NetworkTable):
    """Of the verifier's phase; ``timeout_sec`` None was not given."""

    timeout_sec: Seconds | None = None
    env: Mapping[str, str] = Field(default_factory=dict)
    user: User | None = None
    environment_mode: VerifierMode | None = None
    environment: EnvironmentTable | None = None
    collect: tuple[CollectHook, ...] = ()

    @model_validator(mode="after")
    def _own_container_only_when_separate(self) -> Self:
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError('environment_mode = "shared" has no environment of its own: remove one of the two')
        return self

    @property
    def mode(self) -> VerifierMode | None:
        """What this table says of where the verifier runs; None when nothing."""
        return "separate" if self.environment is not None else self.environment_mode


class SolutionTable(Table):
    """Of the reference solution."""

    env: Mapping[str, str] = Field(default_factory=dict)


class Author(Table):
    """Who wrote a task."""

    name: str
    email: str | None = None


class PackageTable(Table):
    """What a task is called where it is published."""

    name: PackageName
    version: Annotated[str, Field(min_length=1)] | None = None
    description: str = ""
    authors: tuple[Author, ...] = ()
    keywords: tuple[str, ...] = ()


class StepTable(Table):
    """One step of a task with several."""

    name: StepName
    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    min_reward: Number | Mapping[str, Number] | None = None
    healthcheck: HealthCheck | None = None
    artifacts: Artifacts = ()


class TaskConfig(Table):
    """The whole file."""

    schema_version: str = Field("1.4", validation_alias=AliasChoices("schema_version", "version"))
    task: PackageTable | None = None
    metadata: Mapping[str, object] = Field(default_factory=dict)
    source: str | None = None
    artifacts: Artifacts = ()
    multi_step_reward_strategy: Strategy | None = None
    steps: tuple[StepTable, ...] = ()
    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    environment: EnvironmentTable = EnvironmentTable()
    solution: SolutionTable = SolutionTable()

    @model_validator(mode="after")
    def _steps_have_directories_of_their_own(self) -> Self:
        if twice := same_name(step.name for step in self.steps):
            raise ValueError(f"two steps are called {twice!r}, case aside")
        return self

    @property
    def strategy(self) -> Strategy:
        """How the rewards of several steps become one."""
        return self.multi_step_reward_strategy or "mean"

"""What a compose file may ask for, key by key, and why the rest is refused.

A key that is in no table is unknown: nothing is passed on that is not understood. All keys of the specification:
https://docs.docker.com/reference/compose-file/services/
"""

from __future__ import annotations

from collections.abc import Mapping

_HOST = "it would reach the host"
_GUARDED = "how a service is held is not the task's to say"
_OUTSIDE = "a task's services are built and run from its own files alone"
_OTHERS = "it would reach what is not of this task"

#: Of the file itself.
TOP = frozenset({"configs", "name", "networks", "secrets", "services", "version", "volumes"})
TOP_REFUSED: Mapping[str, str] = {"include": "write everything into one file", "models": _OUTSIDE}

#: Of a service. Those in `WITHOUT_EFFECT` may be there and change nothing.
WITHOUT_EFFECT = frozenset({"expose", "init", "labels", "stop_grace_period", "stop_signal"})
SERVICE = WITHOUT_EFFECT | frozenset(
    """
    build cap_add cap_drop command configs cpus depends_on entrypoint env_file environment healthcheck hostname image
    mem_limit network_mode networks pids_limit platform read_only restart secrets security_opt shm_size stdin_open tmpfs
    tty ulimits user volumes working_dir
    """.split()
)
SERVICE_REFUSED: Mapping[str, str] = {
    "annotations": _GUARDED,
    "attach": _GUARDED,
    "blkio_config": _HOST,
    "cgroup": _HOST,
    "cgroup_parent": _HOST,
    "container_name": "two runs of one task would meet; services know each other by their own names",
    "cpu_count": "use cpus",
    "cpu_percent": "use cpus",
    "cpu_period": "use cpus",
    "cpu_quota": "use cpus",
    "cpu_rt_period": _HOST,
    "cpu_rt_runtime": _HOST,
    "cpu_shares": "use cpus",
    "cpuset": _HOST,
    "credential_spec": _HOST,
    "deploy": "use mem_limit and cpus; there are no devices and no replicas",
    "develop": _HOST,
    "device_cgroup_rules": _HOST,
    "devices": _HOST,
    "dns": _OTHERS,
    "dns_opt": _OTHERS,
    "dns_search": _OTHERS,
    "domainname": _OTHERS,
    "extends": "write the service out (YAML anchors and merge keys work)",
    "external_links": _OTHERS,
    "extra_hosts": _OTHERS,
    "gpus": _HOST,
    "group_add": _GUARDED,
    "ipc": _HOST,
    "isolation": _GUARDED,
    "label_file": _OUTSIDE,
    "links": "services know each other by their names",
    "logging": _HOST,
    "mac_address": _OTHERS,
    "mem_reservation": "use mem_limit",
    "mem_swappiness": _HOST,
    "memswap_limit": "services have no swap; use mem_limit",
    "models": _OUTSIDE,
    "oom_kill_disable": _HOST,
    "oom_score_adj": _HOST,
    "pid": _HOST,
    "ports": "nothing is published on the host; services reach each other without it",
    "post_start": _GUARDED,
    "pre_stop": _GUARDED,
    "privileged": _HOST,
    "profiles": "every service of a task is started",
    "provider": _HOST,
    "pull_policy": "images are had as the provider has them",
    "runtime": _HOST,
    "scale": "one container a service",
    "storage_opt": _HOST,
    "sysctls": _HOST,
    "use_api_socket": _HOST,
    "userns_mode": _HOST,
    "uts": _HOST,
    "volumes_from": _OTHERS,
}

#: Of ``build``.
BUILD = frozenset({"args", "context", "dockerfile", "labels", "target"})
BUILD_REFUSED: Mapping[str, str] = {
    "additional_contexts": _OUTSIDE,
    "cache_from": _OTHERS,
    "cache_to": _OTHERS,
    "dockerfile_inline": "write a Dockerfile",
    "entitlements": _HOST,
    "extra_hosts": _OTHERS,
    "isolation": _GUARDED,
    "network": _HOST,
    "no_cache": "images are built once for their content",
    "platforms": "use platform of the service",
    "privileged": _HOST,
    "provenance": _GUARDED,
    "pull": "images are had as the provider has them",
    "sbom": _GUARDED,
    "secrets": _HOST,
    "shm_size": _GUARDED,
    "ssh": _HOST,
    "tags": _OTHERS,
    "ulimits": _HOST,
}

#: Of a network, and of a service in it.
NETWORK = frozenset({"driver", "internal", "labels"})
NETWORK_REFUSED: Mapping[str, str] = {
    "attachable": _OTHERS,
    "driver_opts": _HOST,
    "enable_ipv4": _HOST,
    "enable_ipv6": _HOST,
    "external": _OTHERS,
    "ipam": "addresses are the engine's to give",
    "name": _OTHERS,
}
ATTACHMENT = frozenset({"aliases"})
ATTACHMENT_REFUSED: Mapping[str, str] = dict.fromkeys(
    (
        "driver_opts",
        "gw_priority",
        "interface_name",
        "ipv4_address",
        "ipv6_address",
        "link_local_ips",
        "mac_address",
        "priority",
    ),
    "addresses are the engine's to give",
)

#: Of a volume of the file, and of a mount of a service.
VOLUME = frozenset({"driver", "labels"})
VOLUME_REFUSED: Mapping[str, str] = {"driver_opts": _HOST, "external": _OTHERS, "name": _OTHERS}
MOUNT = frozenset({"bind", "read_only", "source", "target", "tmpfs", "type", "volume"})
MOUNT_REFUSED: Mapping[str, str] = {"cluster": _HOST, "consistency": _HOST, "image": _OTHERS, "npipe": _HOST}

#: Of a config or secret of the file, and of its mount in a service.
FILE = frozenset({"content", "file"})
FILE_REFUSED: Mapping[str, str] = {
    "driver": _HOST,
    "driver_opts": _HOST,
    "environment": "the host's environment is not for tasks",
    "external": _OTHERS,
    "labels": _GUARDED,
    "name": _OTHERS,
    "template_driver": _HOST,
}
FILE_MOUNT = frozenset({"gid", "mode", "source", "target", "uid"})

HEALTHCHECK = frozenset({"disable", "interval", "retries", "start_interval", "start_period", "test", "timeout"})
DEPENDENCY = frozenset({"condition", "required", "restart"})
ENV_FILE = frozenset({"format", "path", "required"})

#: Limits that a service may set, with the highest value of each.
ULIMITS: Mapping[str, int] = {"nofile": 1048576, "nproc": 65536, "core": 0, "stack": 1 << 30, "fsize": 1 << 40}

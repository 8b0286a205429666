"""The command ``pytest-swe``: what is done outside a test run."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_swe import __version__, registry
from pytest_swe.convert import convert as convert_rows
from pytest_swe.elsewhere import Generation
from pytest_swe.errors import SweError, UsageError
from pytest_swe.harbor_regrade import has_trials, regrade_trials
from pytest_swe.regrade import is_run, regrade_elsewhere, regrade_run
from pytest_swe.regrading import Regraded, saved_logs
from pytest_swe.sandbox.base import BuildsImages
from pytest_swe.validate import validate

#: Exit status after Ctrl-C, as shells have it.
STOPPED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point. Exit status: 0 done and nothing changed, 1 verdicts changed, 2 nothing of it could be done, 130
    stopped by Ctrl-C.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    split = given.index("--") if "--" in given else len(given)
    arguments = _parser().parse_args(given[:split])
    arguments.arguments = given[split + 1 :]
    try:
        status: int = arguments.action(arguments)
    except SweError as error:
        sys.stderr.write(f"pytest-swe: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write(f"pytest-swe: stopped{arguments.go_on}\n")
        return STOPPED
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pytest-swe", description="Beside pytest: what is done outside a test run.")
    parser.set_defaults(go_on="")
    parser.add_argument("--version", action="version", version=f"pytest-swe {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    regrade = commands.add_parser(
        "regrade", help="grade the saved logs of a run again; Harbor's separate verifiers too"
    )
    regrade.add_argument("directory", type=Path, help="a run's directory (swe-results/RUN), or logs of another tool")
    regrade.add_argument(
        "--dataset", help="the data set, when it has moved since the run; needed for other tools' logs"
    )
    regrade.add_argument("--generation", choices=["2"], help="read the logs as swebench 2.x did: without markers")
    regrade.add_argument("--write", action="store_true", help="write the new verdicts to each report.json")
    regrade.set_defaults(action=_regrade)
    validating = commands.add_parser("validate", help="are the rows sound: gold resolves, base does not, N times")
    validating.add_argument("dataset", help="what --swe-dataset takes")
    validating.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each control (default 3)")
    validating.add_argument("--out", type=Path, default=Path("swe-health"), help="directory of the report")
    validating.epilog = "What stands after -- is for pytest: pytest-swe validate rows.jsonl -- -n 8"
    validating.set_defaults(action=_validate)
    sweep = commands.add_parser("sweep", help="remove what dead runs left behind, and only that")
    sweep.add_argument("--provider", action="append", choices=registry.providers(), help="default: every provider")
    sweep.add_argument(
        "--images", action="store_true", help="also the images that were built of tasks and are not in use"
    )
    sweep.set_defaults(action=_sweep)
    convert = commands.add_parser("convert", help="write rows of any family as rows that carry their eval script")
    convert.add_argument("source", metavar="IN", help="a data set: a path or a name on the hub")
    convert.add_argument("target", metavar="OUT", type=Path, help="what to write; it must not exist")
    convert.add_argument("--to", choices=("jsonl", "task-repo"), default="jsonl", help="default: jsonl")
    convert.add_argument("--harness", choices=registry.harnesses(), help="the family of all rows; default: by columns")
    convert.set_defaults(action=_convert)
    _add_agent_kit(commands)
    _add_prepare(commands)
    _add_bundle(commands)
    return parser


def _add_agent_kit(commands: Any) -> None:
    kit = commands.add_parser("agent-kit", help="gather what an agent needs where there is no network")
    kit.add_argument("name", help="the agent, as --swe-agent names it")
    kit.add_argument("directory", metavar="DIR", type=Path, help="where to make it, as DIR/NAME")
    kit.add_argument(
        "--python", default=sys.executable, help="an interpreter with pip, of the version that the images have"
    )
    kit.set_defaults(action=_agent_kit)


def _agent_kit(arguments: argparse.Namespace) -> int:
    from pytest_swe.agent.kit_making import kit_named

    place = kit_named(arguments.name, arguments.directory, python=arguments.python)
    sys.stdout.write(f"{place}\n")
    return 0


def _add_prepare(commands: Any) -> None:
    prepare = commands.add_parser("prepare", help="pull, load or build the images of a data set before a run")
    _add_images(prepare)
    prepare.add_argument("-j", "--jobs", type=int, default=3, metavar="N", help="images at a time (default 3)")
    prepare.add_argument(
        "--archive", action="append", default=[], type=Path, metavar="PATH", help="docker save's files"
    )
    prepare.add_argument("--base", default="", metavar="IMAGE", help="what the repository's base.Dockerfile stands on")
    prepare.add_argument(
        "--force-build", action="store_true", help="build tasks' images also where they name ready ones"
    )
    prepare.add_argument("--ask-hub", action="store_true", help="ask Docker Hub for sizes; each counts as a pull there")
    prepare.add_argument("--dry-run", action="store_true", help="only say what there is to do")
    prepare.set_defaults(action=_prepare, go_on="; what is ready stays, and the same command goes on")


def _add_bundle(commands: Any) -> None:
    bundle = commands.add_parser("bundle", help="images of a data set as a directory, for hosts without a registry")
    ways = bundle.add_subparsers(required=True, metavar="export|import")
    export = ways.add_parser("export", help="write the images of a data set to a directory")
    _add_images(export)
    export.add_argument("target", metavar="OUT", type=Path, help="the directory; it must not exist")
    export.set_defaults(action=_export)
    loading = ways.add_parser("import", help="load a directory that export wrote")
    loading.add_argument("source", metavar="DIR", type=Path)
    _add_provider(loading)
    loading.set_defaults(action=_import)


def _add_images(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", help="a data set: a path or a name on the hub")
    _add_provider(parser)
    parser.add_argument("--instance", action="append", default=[], metavar="ID", help="only this one; repeatable")
    parser.add_argument("--harness", choices=registry.harnesses(), help="the family of all rows; default: by columns")
    parser.add_argument(
        "--mirror", action="append", default=[], metavar="FROM=TO", help="ask for images under another name first"
    )


def _add_provider(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--provider", choices=registry.providers(), default="docker", help="default: docker")
    parser.add_argument(
        "--provider-option", action="append", default=[], metavar="KEY=VALUE", help="as --swe-provider-option"
    )
    parser.add_argument(
        "--docker-hosts", type=_hosts, default=(), metavar="A,B,...", help="several Docker engines; each gets all"
    )


def _hosts(text: str) -> tuple[str, ...]:
    hosts = tuple(host for each in text.split(",") if (host := each.strip()))
    if not hosts or len(set(hosts)) < len(hosts):
        raise argparse.ArgumentTypeError(f"{text!r}: expected engines, each once, such as ssh://a,ssh://b")
    return hosts


def _prepare(arguments: argparse.Namespace) -> int:
    from pytest_swe.prepare import prepare

    return prepare(arguments)


def _export(arguments: argparse.Namespace) -> int:
    from pytest_swe.prepare import export

    return export(arguments)


def _import(arguments: argparse.Namespace) -> int:
    from pytest_swe.prepare import load

    return load(arguments)


def _regrade(arguments: argparse.Namespace) -> int:
    found: Counter[str] = Counter()
    for item in _items(arguments):
        found["changed"] += item.changed
        found["judged" if item.judged else "kept" if item.kept else "impossible"] += 1
        if item.changed or not item.judged:
            sys.stdout.write(f"{item.instance_id} by {item.model}: {_said(item)}\n")
        if arguments.write and item.report is not None:
            text = json.dumps(item.report.official, indent=4)
            (item.place / "report.json").write_text(text, encoding="utf-8")
    said = [f"{found['judged']} logs graded again, {found['changed']} changed"]
    said += [f"not judged again: {found['kept']}"] if found["kept"] else []
    said += [f"cannot be judged again: {found['impossible']}"] if found["impossible"] else []
    sys.stdout.write("; ".join(said) + "\n")
    if found["impossible"] and not (found["judged"] or found["kept"]):
        return 2
    return 1 if found["changed"] else 0


def _items(arguments: argparse.Namespace) -> Iterator[Regraded]:
    directory, dataset = arguments.directory, arguments.dataset
    generation: Generation = "2" if arguments.generation else ""
    if dataset and not is_run(directory):
        yield from regrade_elsewhere(directory, dataset, generation)
        return
    if generation:
        raise UsageError("--generation is for logs of other tools", hint="name their directory, and --dataset")
    trials = has_trials(directory)
    if trials:
        yield from regrade_trials(directory, dataset)
    if not trials or saved_logs(directory):
        yield from regrade_run(directory, dataset)


def _said(item: Regraded) -> str:
    before, after = (f"{verdict.status} {verdict.reason or ''}".strip() for verdict in (item.before, item.after))
    if item.kept:
        return f"{before}: not judged again: {item.kept}"
    if item.impossible:
        return f"{before}: cannot be judged again: {item.impossible}"
    return f"{before} -> {after}" + (f" ({item.remark})" if item.remark else "")


def _convert(arguments: argparse.Namespace) -> int:
    done = convert_rows(arguments.source, arguments.target, arguments.to, arguments.harness)
    for name, why in done.left_out:
        sys.stderr.write(f"left out: {name}: {why}\n")
    sys.stdout.write(f"{done.written} rows converted, {len(done.left_out)} left out\n")
    return 1 if done.left_out else 0


def _validate(arguments: argparse.Namespace) -> int:
    found = validate(arguments.dataset, arguments.out, repeat=arguments.repeat, arguments=arguments.arguments)
    unsound = [health for health in found if health.state != "sound"]
    for health in unsound:
        sys.stdout.write(f"{health.instance_id}: {health.state.replace('_', ' ')}: {health.detail}\n")
    sys.stdout.write(
        f"{len(found) - len(unsound)} of {len(found)} instances are sound: {arguments.out / 'health.md'}\n"
    )
    return 1 if unsound else 0


def _sweep(arguments: argparse.Namespace) -> int:
    for name in arguments.provider or registry.providers():
        try:
            provider = registry.provider(name)
            removed = provider.sweep(None)
        except SweError as error:
            if arguments.provider:
                raise
            sys.stdout.write(f"{name}: {error}\n")
            continue
        sys.stdout.write(f"{name}: {removed} removed\n")
        if arguments.images and isinstance(provider, BuildsImages):
            sys.stdout.write(f"{name}: {provider.remove_built_images()} images removed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

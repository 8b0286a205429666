"""What stands above a run: data sets with their rows and families, predictions, provider and engine."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_swe.dataset.base import RowRef
from pytest_swe.dataset.source import Dataset
from pytest_swe.dataset_plan import DatasetPlan
from pytest_swe.errors import SweError
from pytest_swe.planning import Source
from pytest_swe.run import Run
from pytest_swe.user_code import user_code


def header(run: Run, *, ask_engine: bool) -> list[str]:
    """The lines of the header; the engine is asked for its version unless nothing will run."""
    lines = [_dataset(run, plan) for plan in run.plans.values()]
    lines += [line for source in run.sources() for line in _candidates(source)]
    if ask_engine:
        lines.append(f"swe provider: {_engine(run)}")
    return lines


def _dataset(run: Run, plan: DatasetPlan) -> str:
    dataset, rows = plan.dataset, len(plan.dataset.refs)
    refs = list({(item.ref.line, item.ref.instance_id): item.ref for item in plan.items}.values())
    chosen = len(refs)
    parts = [f"{rows} rows" if chosen == rows else f"{chosen} of {rows} rows", *_families(run, dataset, refs)]
    bad = sum(bool(ref.problem) for ref in dataset.refs)
    if bad:
        parts.append(f"{bad} of them unusable")
    return f"swe data set: {dataset.name} ({', '.join(parts)})"


def _families(run: Run, dataset: Dataset, refs: Sequence[RowRef]) -> Iterator[str]:
    """Family and generation, of a mixed data set with their numbers."""
    if run.settings.harness or len(run.config.hook.pytest_swe_harness.get_hookimpls()) > 1:
        yield from _first_family(run, dataset)
        return
    kinds = Counter((ref.family, ref.generation) for ref in refs if not ref.problem)
    if len(kinds) == 1:
        ((family, generation),) = kinds
        yield family or "of no known family"
        if generation:
            yield f"{generation} generation"
        return
    for (family, generation), count in kinds.most_common():
        named = f"{family} ({generation})" if generation else family
        yield f"{count} {named}" if family else f"{count} of no known family"


def _first_family(run: Run, dataset: Dataset) -> Iterator[str]:
    """Family and generation as the first usable row tells, where something else than its columns decides."""
    first = next((ref for ref in dataset.refs if not ref.problem), None)
    if first is None:
        return
    try:
        row = dataset.load(first)
        harness = run.harness_of(row, dataset)
        with user_code("the family's generation()"):
            generation = harness.generation(row)
    except SweError:
        return  # the rows say it themselves, each in its own item
    yield harness.name
    if generation:
        yield f"{generation} generation"


def _candidates(source: Source) -> Iterator[str]:
    if source.predictions is None:
        if source.agent:
            text = textwrap.shorten(source.name.removeprefix("agent:"), 60, placeholder=" ...")
            yield f"swe candidates: agent {source.models[0]}" + (f" ({text})" if text != source.agent else "")
        elif source.name:
            yield f"swe candidates: {source.name}"
        return
    kinds = Counter(ref.kind for ref in source.predictions.refs)
    words = {"patch": "patches", "empty": "empty", "bad": "unusable"}
    counts = ", ".join(f"{count} {words[kind]}" for kind, count in kinds.items())
    models = ", ".join(source.models[:4]) + (", ..." if len(source.models) > 4 else "")
    yield f"swe candidates: {source.name} ({counts} by {models})" if counts else f"swe candidates: {source.name} (none)"


def _engine(run: Run) -> str:
    try:
        provider = run.provider()
        with user_code("the provider's check()"):
            return f"{run.settings.provider}, {provider.check()}"
    except SweError as error:
        return f"{run.settings.provider}: {error}"

"""Which items there are: rows times candidates, chosen and named before any item exists.

Pure over what the readers list, so the controller and every worker come to the same plan. Items are keyed by
(data set, instance, model, repeat); a name is only for people.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_swe.dataset.base import RowRef
from pytest_swe.dataset.predictions import PredictionRef, Predictions
from pytest_swe.errors import UsageError

Work = Literal["evaluate", "empty", "missing", "bad"]
CONTROLS = ("gold", "base")
WORK_OF_KIND: Mapping[str, Work] = {"patch": "evaluate", "empty": "empty", "bad": "bad"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which rows: exact ids, then a seeded sample, then one shard, then the first ``limit``."""

    instances: tuple[str, ...] = ()
    sample: int | None = None
    seed: int = 0
    shard: tuple[int, int] | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where candidates come from: a control (``gold``, ``base``), a read predictions file, or (``""``) nowhere.

    ``agent`` is what an agent is called in this run, ``model`` the model that it uses; the two together are its column.
    """

    name: str
    predictions: Predictions | None = None
    agent: str = ""
    model: str = ""

    @property
    def models(self) -> tuple[str, ...]:
        if self.agent:
            return (f"{self.agent}+{self.model}" if self.model else self.agent,)
        if self.predictions is None:
            return (self.name,)  # a control; "" when there are no candidates at all
        return tuple(dict.fromkeys(ref.model for ref in self.predictions.refs)) or ("",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One item: a row, a candidate, and what there is to do. ``problem`` says why it cannot be done."""

    name: str
    ref: RowRef
    model: str
    source: str
    work: Work = "evaluate"
    prediction: PredictionRef | None = None
    repeat: int = 0
    problem: str = ""

    @property
    def instance_id(self) -> str:
        return self.ref.instance_id or self.name


def select(refs: Sequence[RowRef], selection: Selection) -> list[RowRef]:
    """The chosen rows, in file order. Raises UsageError for an id that no row has, with the nearest ones."""
    chosen = list(refs)
    if selection.instances:
        wanted = set(selection.instances)
        chosen = [ref for ref in chosen if ref.instance_id in wanted]
        unknown = wanted - {ref.instance_id for ref in chosen}
        if unknown:
            raise UsageError(_unknown(sorted(unknown)[0], len(unknown), refs))
    if selection.sample is not None and selection.sample < len(chosen):
        # Indices, not rows: the same draw whatever the rows hold.
        drawn = set(random.Random(selection.seed).sample(range(len(chosen)), selection.sample))
        chosen = [ref for index, ref in enumerate(chosen) if index in drawn]
    if selection.shard is not None:
        part, parts = selection.shard
        chosen = chosen[part - 1 :: parts]
    return chosen if selection.limit is None else chosen[: selection.limit]


def _unknown(name: str, count: int, refs: Sequence[RowRef]) -> str:
    near = difflib.get_close_matches(name, [ref.instance_id for ref in refs], 3)
    guess = f"; nearest: {', '.join(near)}" if near else ""
    more = f" (and {count - 1} more)" if count > 1 else ""
    return f"--swe-instance {name}{more}: no such row among {len(refs)}{guess}"


def refuse_shared_columns(sources: Sequence[Source]) -> None:
    """Raises UsageError where predictions are called as a control or an agent beside them: they would be one model."""
    own = {model for source in sources if source.predictions is None for model in source.models if model}
    for source in sources:
        shared = own & set(source.models) if source.predictions is not None else set()
        if shared:
            name = min(shared)
            raise UsageError(
                f"{source.name}: a model is called {name!r}, as what is evaluated beside it",
                hint="run them apart, or rename the model in the predictions",
            )


def plan(refs: Sequence[RowRef], sources: Sequence[Source], times: int = 1) -> tuple[Planned, ...]:
    """Every item, in row order, ``times`` each. Names: ``id``, ``id@model`` of several models, ``#k`` for repeats."""
    models = [(source, source.models) for source in sources]  # once: it looks at every prediction
    several = len({model for _, found in models for model in found}) > 1
    repeats: dict[tuple[int, str, str], int] = {}
    names: set[str] = set()
    items: list[Planned] = []
    for ref in refs:
        for item in (each for each in _items_of(ref, models) for _ in range(times)):
            key = (ref.line, ref.instance_id, item.model)
            repeat = repeats[key] = repeats.get(key, -1) + 1
            base = _row_name(ref)
            name = _free(_safe(f"{base}@{item.model}" if several and item.model else base), repeat + 1, names)
            names.add(name)
            items.append(replace(item, name=name, repeat=repeat))
    return tuple(items)


def _free(name: str, number: int, taken: Container[str]) -> str:
    """``name``, with the number of the repeat; a higher one while another item is called so (ids may hold ``#2``)."""
    free = name if number == 1 else f"{name}#{number}"
    while free in taken:
        number += 1
        free = f"{name}#{number}"
    return free


def _row_name(ref: RowRef) -> str:
    """The id; ``line-N`` for a row that has none, and for a bad line of a file; a bad task has its directory's name."""
    is_bad_line = bool(ref.problem and ref.length)
    return ref.instance_id if ref.instance_id and not is_bad_line else f"line-{ref.line}"


def _safe(name: str) -> str:
    # Brackets: pytest 9.2's --lf silently skips failing items that have them (pytest#15045). "::" splits node ids.
    return name.replace("::", "..").replace("[", "(").replace("]", ")").replace("\n", " ")


def _items_of(ref: RowRef, models: Iterable[tuple[Source, Iterable[str]]]) -> Iterator[Planned]:
    for source, known in models:
        for model in known:
            if ref.problem:
                yield Planned(name="", ref=ref, model=model, source=source.name, work="bad", problem=ref.problem)
            else:
                yield from _candidates(ref, source, model)


def _candidates(ref: RowRef, source: Source, model: str) -> Iterator[Planned]:
    if source.predictions is None:
        work: Work = "evaluate" if source.agent or source.name in CONTROLS else "missing"
        yield Planned(name="", ref=ref, model=model, source=source.name, work=work)
        return
    found = [p for p in source.predictions.of(ref.instance_id) if p.model == model]
    if not found:
        yield Planned(name="", ref=ref, model=model, source=source.name, work="missing")
    for prediction in found:
        yield Planned(
            name="",
            ref=ref,
            model=model,
            source=source.name,
            work=WORK_OF_KIND[prediction.kind],
            prediction=prediction,
            problem=prediction.problem,
        )

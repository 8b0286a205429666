"""What an agent is told of a row: the problem as the data set words it, and nothing that helps to grade it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_swe.errors import RowInvalid
from pytest_swe.model import Row

#: Columns that hold the problem, in the order in which they are looked for. Hints are never among them: the official
#: rules of SWE-bench do not give them to an agent.
COLUMNS = ("problem_statement", "instruction", "issue", "prompt")


def instruction_of(row: Row) -> str:
    """The text of ``row`` that says what to do. Raises RowInvalid when no column has it."""
    for column in COLUMNS:
        text = row.get(column)
        if isinstance(text, str) and text.strip():
            return text
    for parts in (_issues(row.get("resolved_issues")), _asked(row.get("responses_create_params"))):
        if text := "\n\n".join(filter(None, parts)):
            return text
    known = ", ".join((*COLUMNS, "resolved_issues", "responses_create_params"))
    raise RowInvalid(
        "nothing to tell an agent", instance_id=str(row.get("instance_id", "")), field="problem_statement", hint=known
    )


def _issues(value: object) -> Iterator[str]:
    """Issues as Multi-SWE-bench lists them: objects with a title and a body."""
    for issue in value if isinstance(value, list) else ():
        if isinstance(issue, Mapping):
            parts = (str(issue.get(name) or "").strip() for name in ("title", "body"))
            yield "\n\n".join(part for part in parts if part)


def _asked(value: object) -> Iterator[str]:
    """What the user says in a request as NeMo Gym's rows hold it: its ``input``, a text or messages."""
    asked = value.get("input") if isinstance(value, Mapping) else None
    if isinstance(asked, str):
        yield asked.strip()
    for message in asked if isinstance(asked, list) else ():
        if isinstance(message, Mapping) and message.get("role") == "user":
            content = message.get("content")
            parts = content if isinstance(content, list) else [{"text": content}]
            texts = (part.get("text") for part in parts if isinstance(part, Mapping))
            yield "\n\n".join(text.strip() for text in texts if isinstance(text, str))

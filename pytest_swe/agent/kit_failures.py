"""What pip and npm say of a failure, in one short line. Pure."""

from __future__ import annotations

import re

_LONGEST = 300

_NO_MATCH = re.compile(r"^ERROR: No matching distribution found for (?P<what>.+)$", re.MULTILINE)
#: pip's list of what it left out: version and what that needs, by version as text.
_IGNORED = re.compile(r"(?P<version>[0-9][^\s;]*) Requires-Python (?P<needs>[^;\n]+)")
_BROKEN = re.compile(r"after connection broken by .*?: (?P<why>[^:\"']+)[\"')]*: /", re.DOTALL)
_NPM = re.compile(r"^npm (?:error|ERR!) ?", re.MULTILINE)
#: Lines of npm's without news: where it failed in the program, and where its log is.
_NPM_IDLE = re.compile(r"^(code|errno|syscall|path|at|A complete log|In most cases|\W*$)\b|^\s|^$")


def in_short(said: str, python: str = "") -> tuple[str, str]:
    """What went wrong, of all that a program printed, and what to do. ``python`` is the version that was tried."""
    no_match = _NO_MATCH.search(said)
    if no_match is not None:
        return _no_match(no_match["what"], said, python)
    if _NPM.search(said):
        return _npm(said), ""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line[len("error: ") :] for line in lines if line.lower().startswith("error: ")]
    news = [line for line in errors if line != "subprocess-exited-with-error"]  # which one, says a later line
    return _cut(news[0] if news else (lines or ["it said nothing"])[-1]), ""


def _no_match(what: str, said: str, python: str) -> tuple[str, str]:
    ignored = _IGNORED.findall(said)
    if ignored:
        _, needs = max(ignored, key=lambda each: _order(each[0]))
        here = f" {python}" if python else ""
        return (
            f"{what}: nothing of it is for Python{here}: it needs Python {needs.strip()}",
            "--python names another one",
        )
    broken = _BROKEN.search(said)
    if broken is not None:
        return _cut(f"{what}: the package index does not answer: {broken['why'].strip()}"), ""
    return f"{what}: no such package, or none for this platform", ""


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _npm(said: str) -> str:
    lines = [_NPM.sub("", line) for line in said.splitlines() if _NPM.match(line)]
    code = next((line.removeprefix("code ") for line in lines if line.startswith("code ")), "")
    news = next((line for line in lines if not _NPM_IDLE.search(line)), "")
    return _cut(": ".join(filter(None, (code, news.strip()))) or "it said nothing")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."

"""What a verifier left in ``/logs/verifier``, as rewards or as the reason why there are none. Pure.

The rules are those of Harbor 0.25.0, with its names for what is wrong. Where nothing is understood there is no reward,
never a 0. Different from it: two files that disagree are an error, a payload of SWE-Interact's failure path is read,
and only a regular file of some size counts.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

JSON_FILE = "reward.json"
TEXT_FILE = "reward.txt"
#: More is no reward file.
MAX_REWARD_FILE = 1024 * 1024
MAX_KEYS = 1000
#: Whole numbers beyond this are no longer exact in JSON that others read.
_EXACT = 2**53

Failure = Literal["RewardFileNotFoundError", "RewardFileEmptyError", "VerifierOutputParseError"]
Kind = Literal["directory", "link", "other", "too large"]


class NoReward(ValueError):
    """There is no reward; ``name`` is what Harbor calls that, the message says why in one line."""

    def __init__(self, name: Failure, message: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True, slots=True)
class Found:
    """The rewards, by key, and a note where they were read in a way that is worth telling."""

    rewards: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


def rewards_of(files: Mapping[str, bytes | Kind], *, json_first: bool = False) -> Found:
    """The rewards in what stands in the verifier's directory: name -> content, or what it is when no regular file.

    With ``json_first`` a ``reward.txt`` next to a ``reward.json`` is not looked at, as in Harbor. Raises NoReward.
    """
    in_json, in_text = files.get(JSON_FILE), files.get(TEXT_FILE)
    if in_json is None and in_text is None:
        raise NoReward("RewardFileNotFoundError", f"the verifier wrote neither {TEXT_FILE} nor {JSON_FILE}")
    if in_json is None:
        return Found({"reward": _text_reward(_content(TEXT_FILE, in_text))})
    document = _document(_content(JSON_FILE, in_json))
    if in_text is None or json_first:
        return Found(_numbers(document))
    if failed := _failure_payload(document, in_text):
        return failed
    return Found(_agreeing(_numbers(document), in_text))


def _content(name: str, found: bytes | Kind | None) -> bytes:
    if not isinstance(found, bytes):
        raise NoReward("VerifierOutputParseError", f"{name} is no regular file: {found}")
    if len(found) > MAX_REWARD_FILE:
        raise NoReward("VerifierOutputParseError", f"{name} is larger than {MAX_REWARD_FILE // 1024} KiB")
    if not found:
        raise NoReward("RewardFileEmptyError", f"{name} is empty")
    return found


def _text_reward(content: bytes) -> float:
    try:
        number = float(content.decode())
    except ValueError:
        raise NoReward("VerifierOutputParseError", f"{TEXT_FILE} holds no number: {_shown(content)}") from None
    if not math.isfinite(number):
        raise NoReward("VerifierOutputParseError", f"{TEXT_FILE} holds {number}, which is no finite number")
    return number


def _document(content: bytes) -> object:
    try:
        return json.loads(content.decode())
    except (ValueError, RecursionError):
        raise NoReward("VerifierOutputParseError", f"{JSON_FILE} is not JSON: {_shown(content)}") from None


def _numbers(document: object) -> dict[str, float]:
    if not isinstance(document, dict):
        what = f"expected an object of numbers, got {reprlib.repr(document)}"
        raise NoReward("VerifierOutputParseError", f"{JSON_FILE}: {what}")
    if len(document) > MAX_KEYS:
        raise NoReward("VerifierOutputParseError", f"{JSON_FILE}: more than {MAX_KEYS} rewards")
    return {_key(key): _number(key, value) for key, value in document.items()}


def _key(key: str) -> str:
    """Half a character (a lone surrogate) can be written into no report."""
    try:
        key.encode()
    except UnicodeEncodeError:
        raise NoReward("VerifierOutputParseError", f"{JSON_FILE}: {key!r} is no text") from None
    return key


def _number(key: str, value: object) -> float:
    """As it stands, so that 1 stays 1; a truth value becomes 1.0 or 0.0."""
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, (int, float)):
        raise _unusable(key, f"expected a number, got {reprlib.repr(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _unusable(key, f"{reprlib.repr(value)} is no finite number")
    return value if abs(value) <= _EXACT else number


def _unusable(key: str, what: str) -> NoReward:
    return NoReward("VerifierOutputParseError", f"{JSON_FILE}: {reprlib.repr(key)}: {what}")


def _agreeing(rewards: dict[str, float], in_text: bytes | Kind) -> dict[str, float]:
    """The rewards of the JSON file when the text file does not contradict it.

    Harbor read the text first up to 0.6 and the JSON first since 0.8: the same task had two scores.
    """
    if "reward" not in rewards:
        return rewards
    try:
        number = _text_reward(_content(TEXT_FILE, in_text))
    except NoReward as unreadable:
        said = str(unreadable)
    else:
        if number == rewards["reward"]:
            return rewards
        said = f"{TEXT_FILE} says {number:g}"
    raise NoReward("VerifierOutputParseError", f"{JSON_FILE} says reward {rewards['reward']:g}, and {said}")


def _failure_payload(document: object, in_text: bytes | Kind) -> Found | None:
    """SWE-Interact's way to say that its verifier failed: 0 in both files, and why in ``error``."""
    if not isinstance(document, dict) or not isinstance(document.get("error"), str):
        return None
    numbers = _numbers({key: value for key, value in document.items() if key != "error"})
    if numbers.get("reward") != 0 or _text_reward(_content(TEXT_FILE, in_text)) != 0:
        return None
    return Found(numbers, f"the verifier says: {document['error'].strip()[:500]}")


def _shown(content: bytes) -> str:
    return reprlib.repr(content[:200].decode("utf-8", "replace"))

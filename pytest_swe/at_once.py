"""Work in several threads that Ctrl-C ends: nothing more is begun, and nobody waits long for what runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: Seconds for what runs to notice that it is stopped, and to take away what it has begun.
ENDING = 5.0


def at_once(
    work: Callable[[T], R], items: Iterable[T], *, jobs: int, stopped: Event | None = None
) -> Generator[R, None, None]:
    """What ``work`` gives for each of ``items``, in their order, ``jobs`` at a time. Raises what ``work`` raises.

    Once the caller lets go of it ``stopped`` is set. The threads are daemons: whoever does not look at it ends with
    this process.
    """
    over = stopped or Event()
    waiting: SimpleQueue[tuple[Future[R], T]] = SimpleQueue()
    futures: list[Future[R]] = []
    for item in items:
        futures.append(Future())
        waiting.put((futures[-1], item))
    threads = [Thread(target=_worked, args=(work, waiting, over), daemon=True) for _ in range(min(jobs, len(futures)))]
    try:
        for thread in threads:
            thread.start()
        for future in futures:
            yield future.result()
    finally:
        over.set()
        deadline = time.monotonic() + ENDING
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))


def first_line(why: str) -> str:
    """What is said of a failure while others go on; all of it is told at the end."""
    return why.partition("\n")[0].rstrip(":")


def _worked(work: Callable[[T], R], waiting: SimpleQueue[tuple[Future[R], T]], over: Event) -> None:
    while not over.is_set():
        try:
            future, item = waiting.get_nowait()
        except Empty:
            return
        try:
            future.set_result(work(item))
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            future.set_exception(error)

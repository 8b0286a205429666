"""The interval of a rate. Pure."""

from __future__ import annotations

import math


def wilson(rate: float, total: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval for a proportion of ``total``; (0, 1) when nothing was counted."""
    if total <= 0:
        return 0.0, 1.0
    centre = rate + z * z / (2 * total)
    spread = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return min(rate, max(0.0, (centre - spread) / scale)), max(rate, min(1.0, (centre + spread) / scale))

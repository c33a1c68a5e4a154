"""Whether the disks of the nodes have room, by the watermarks of the server.

Above the low watermark a node gets no more shards. Above the flood stage its indices take no writes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.stores.elasticsearch.server import Disk

_SETTING = "cluster.routing.allocation.disk.watermark."
_DEFAULTS = {"low": "85%", "flood_stage": "95%"}
_UNITS = {"b": 0, "kb": 10, "mb": 20, "gb": 30, "tb": 40, "pb": 50}
_GB = 2**30


def disk_check(disks: Sequence[Disk], settings: Mapping[str, Any]) -> Check:
    """Return the Check of the disks.

    :param settings: of the cluster, flat; the server's defaults stand for what is missing.
    """
    if not disks:
        return Check("disk", "not tried", "the server does not say how large its disks are")
    for level, status, effect in (
        ("flood_stage", "problem", "indices take no writes"),
        ("low", "advice", "no more shards are placed there"),
    ):
        for disk in disks:
            if disk.available < _least(disk.total, level, settings):
                text = (
                    f"{disk.node} has {disk.available / _GB:,.1f} of {disk.total / _GB:,.1f} GB left, above the "
                    f"watermark {level} {effect}: make room on that disk"
                )
                return Check("disk", status, text)  # type: ignore[arg-type]
    least = min(disks, key=lambda disk: disk.available / disk.total)
    return Check("disk", "ok", f"{least.available / _GB:,.1f} of {least.total / _GB:,.1f} GB left on {least.node}")


def _least(total: int, level: str, settings: Mapping[str, Any]) -> float:
    """Return the least bytes that must be left below a watermark."""
    if str(settings.get("cluster.routing.allocation.disk.threshold_enabled")).lower() == "false":
        return 0
    value = str(settings.get(_SETTING + level, _DEFAULTS[level]))
    if (absolute := _bytes(value)) is not None:
        return absolute
    try:
        used = float(value[:-1]) / 100 if value.endswith("%") else float(value)
    except ValueError:
        return 0
    headroom = _bytes(str(settings.get(f"{_SETTING}{level}.max_headroom", "")))
    left = total * (1 - used)
    return left if headroom is None else min(left, headroom)


def _bytes(value: str) -> int | None:
    """Return the bytes of a value such as ``200gb``; None if it is no such value."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgtp]?b)", value.lower())
    return None if found is None else int(float(found[1]) * 2 ** _UNITS[found[2]])

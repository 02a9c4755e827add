"""Amounts as people read them: the one place where milli-cores, bytes and durations become text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

MEMORY = ("memory", "ephemeral-storage")
_STEPS = ((1 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def count(value: int | float) -> str:
    """A number with the separators of the active language: ``61,204``."""
    return str(number_format(value, use_l10n=True, force_grouping=True))


def _short(value: float) -> str:
    """At most one decimal, and none when it would say nothing."""
    rounded = round(value, 1)
    return count(int(rounded)) if rounded == int(rounded) else count(rounded)


def in_bytes(amount: int) -> str:
    """Bytes in the largest binary unit that keeps them above one: ``512 GiB``, ``1.5 TiB``, ``12 B``."""
    sign = "-" if amount < 0 else ""
    size = abs(amount)
    for step, unit in _STEPS:
        if size >= step:
            return f"{sign}{_short(size / step)} {unit}"
    return f"{sign}{count(size)} B"


_DECIMAL = ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def byte_count(amount: int) -> str:
    """Bytes on a network, in the largest decimal unit that keeps them above one: ``42 GB``."""
    for step, unit in _DECIMAL:
        if amount >= step:
            return f"{_short(amount / step)} {unit}"
    return f"{count(amount)} B"


def thousandths(value: int) -> str:
    """Thousandths of one, with as many decimals as they have: ``0.431``, ``2``."""
    return count(value // 1000) if value % 1000 == 0 else count(value / 1000)


def cores(milli: int) -> str:
    """Milli-cores as cores; what is no multiple of a tenth of a core stays exact: ``4``, ``0.5``,
    ``250m``.
    """
    return _short(milli / 1000) if milli % 100 == 0 else f"{count(milli)}m"


def amount(resource: str, value: int) -> str:
    """An amount of a resource without its name: whole units except cpu, which is kept in milli-cores."""
    if resource == "cpu":
        return cores(value)
    if resource in MEMORY or resource.startswith("hugepages-"):
        return in_bytes(value)
    return count(value)


def gpus(number: int) -> str:
    """``8 GPUs``, ``1 GPU``: for a sentence that counts something else too."""
    return ngettext("%(n)s GPU", "%(n)s GPUs", number) % {"n": count(number)}


def quantity(resource: str, value: int) -> str:
    """An amount with its resource: ``8 nvidia.com/gpu``, ``16 GiB memory``, ``4 cpu``, ``1 pod``."""
    if resource == "pods":
        return ngettext("%(n)s pod", "%(n)s pods", value) % {"n": count(value)}
    return f"{amount(resource, value)} {resource}"


def quantities(pairs: Iterable[Iterable[object]]) -> str:
    """(resource, amount) pairs as one list; pods come last, as they are the least of anybody's troubles."""
    known = [(str(resource), int(str(value))) for resource, value in pairs]
    known.sort(key=lambda pair: (pair[0] == "pods", not pair[0].endswith("gpu"), pair[0]))
    return ", ".join(quantity(resource, value) for resource, value in known)


def duration(seconds: float) -> str:
    """A waiting time in its one or two largest units."""
    whole = max(0, int(seconds))
    if whole < 60:
        return ngettext("%(n)s second", "%(n)s seconds", whole) % {"n": whole}
    minutes = whole // 60
    if minutes < 60:
        return ngettext("%(n)s minute", "%(n)s minutes", minutes) % {"n": minutes}
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return gettext("%(hours)s h %(minutes)s min") % {"hours": hours, "minutes": minutes}
    days, hours = divmod(hours, 24)
    return gettext("%(days)s d %(hours)s h") % {"days": count(days), "hours": hours}


def moment(milliseconds: int) -> str:
    """A time of the log in the active zone, with the zone."""
    try:
        at = datetime.fromtimestamp(milliseconds / 1000, UTC)
        return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}"
    except (ValueError, OverflowError, OSError):  # no time that there is; the log keeps what it was given
        return took(milliseconds)


def took(milliseconds: int) -> str:
    """How long a step took: ``12 ms``, ``1.4 s``, ``1 min 6 s``, and from an hour on as a waiting time."""
    if milliseconds < 1000:
        return gettext("%(n)s ms") % {"n": count(max(0, milliseconds))}
    if milliseconds < 60_000:
        return gettext("%(n)s s") % {"n": _short(milliseconds / 1000)}
    if milliseconds < 3_600_000:
        minutes, seconds = divmod(milliseconds // 1000, 60)
        return gettext("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": seconds}
    return duration(milliseconds / 1000)


def measured(microseconds: int) -> str:
    """As ``took``, with a decimal below a second: what was measured may be that short."""
    if microseconds < 1_000_000:
        return gettext("%(n)s ms") % {"n": _short(max(0, microseconds) / 1000)}
    return took(microseconds // 1000)

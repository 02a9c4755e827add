"""Quota of a trace's queues: which workloads are let through to the scheduler."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping

from scheduling.scenarios.traces import Submission, TraceQueue

Cohort = tuple[str, str]


class Admission:
    """Workloads of one cohort are let through by priority, then age, then name; one for which there is no
    quota is passed over, and others go on. Who was let through is never called back.
    """

    def __init__(self, queues: Iterable[TraceQueue]) -> None:
        self.queues = {queue.name: queue for queue in queues}
        self.used: dict[str, dict[str, int]] = {name: {} for name in self.queues}
        self.waiting: dict[Cohort, list[tuple[int, int, str]]] = {}
        self._whole: dict[Cohort, dict[str, int]] = {}
        for queue in self.queues.values():
            whole = self._whole.setdefault(_cohort(queue), {})
            for resource, amount in queue.quota:
                whole[resource] = whole.get(resource, 0) + amount
        self._had: dict[Cohort, dict[str, int]] = {cohort: {} for cohort in self._whole}

    def ask(self, each: Submission) -> None:
        cohort = _cohort(self.queues[each.queue])
        insort(self.waiting.setdefault(cohort, []), (-each.priority, each.at, each.name))

    def withdraw(self, each: Submission) -> None:
        self.waiting[_cohort(self.queues[each.queue])].remove((-each.priority, each.at, each.name))

    def give_back(self, each: Submission) -> None:
        self._add(each, -1)

    def admit(self, submissions: Mapping[str, Submission]) -> list[Submission]:
        """Those that there is quota for now, which they have from here on."""
        found: list[Submission] = []
        for cohort, asking in self.waiting.items():
            left, full = [], False
            for place, entry in enumerate(asking):
                full = full or self._full(cohort)
                if full:
                    left += asking[place:]
                    break
                each = submissions[entry[2]]
                if self._fits(each):
                    self._add(each, 1)
                    found.append(each)
                else:
                    left.append(entry)
            self.waiting[cohort] = left
        return found

    def never(self, each: Submission) -> bool:
        """Whether it asks for more than its queue could ever have."""
        queue = self.queues[each.queue]
        quota, borrow, whole = dict(queue.quota), dict(queue.borrow), self._whole[_cohort(queue)]
        return any(
            amount * each.members > min(quota[resource] + borrow.get(resource, 0), whole[resource])
            for resource, amount in each.requests
            if resource in quota
        )

    def nominal(self) -> dict[str, int]:
        """The sum of all quotas."""
        found: dict[str, int] = {}
        for whole in self._whole.values():
            for resource, amount in whole.items():
                found[resource] = found.get(resource, 0) + amount
        return found

    def had(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for used in self._had.values():
            for resource, amount in used.items():
                found[resource] = found.get(resource, 0) + amount
        return found

    def resume(self, admitted: Iterable[Submission], asking: Iterable[Submission]) -> None:
        """As it stood with these let through and those still waiting."""
        for each in admitted:
            self._add(each, 1)
        for each in asking:
            self.ask(each)

    def _full(self, cohort: Cohort) -> bool:
        had, whole = self._had[cohort], self._whole[cohort]
        return bool(whole) and all(had.get(resource, 0) >= amount for resource, amount in whole.items())

    def _fits(self, each: Submission) -> bool:
        """A resource that the queue has no quota of is not counted."""
        queue = self.queues[each.queue]
        used, had, whole = self.used[queue.name], self._had[_cohort(queue)], self._whole[_cohort(queue)]
        quota, borrow = dict(queue.quota), dict(queue.borrow)
        for resource, amount in each.requests:
            if resource in quota:
                asked = amount * each.members
                most = quota[resource] + borrow.get(resource, 0)
                if used.get(resource, 0) + asked > most or had.get(resource, 0) + asked > whole[resource]:
                    return False
        return True

    def _add(self, each: Submission, sign: int) -> None:
        queue = self.queues[each.queue]
        counted = dict(queue.quota)
        for used in (self.used[queue.name], self._had[_cohort(queue)]):
            for resource, amount in each.requests:
                if resource in counted:
                    used[resource] = used.get(resource, 0) + sign * amount * each.members


def _cohort(queue: TraceQueue) -> Cohort:
    """A queue without a cohort is one of its own."""
    return ("cohort", queue.cohort) if queue.cohort else ("queue", queue.name)

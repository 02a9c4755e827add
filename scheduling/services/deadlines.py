"""How long groups may wait: deadlines of groups and the default of a cluster, set by commands; what their end
does is a family of ``tending``.

A deadline concerns a wait for minCount. A group that runs with minCount members, and would like to have more,
is never closed by one.
"""

from __future__ import annotations

from scheduling.engine.state import ClusterState
from scheduling.engine.waiting import deadline, is_short, own_deadline, waits_since
from scheduling.engine.waits import ACTIONS, WaitDeadline, WaitPolicy
from scheduling.ledger.events import (
    Event,
    WaitDeadlineExpired,
    WaitDeadlineLifted,
    WaitDeadlineSet,
    WaitDeadlineWithdrawn,
    WaitPolicyChanged,
)
from scheduling.models import Cluster
from scheduling.services.execute import Outcome, execute
from scheduling.services.followed import Followed
from scheduling.services.members import closing_events, open_group
from scheduling.services.problems import FORBIDDEN, INVALID, Problem, Refused

LONGEST_MS = 366 * 86_400_000
"""A default that is longer is a slip of the pen; whoever wants none says none."""


# ---------------------------------------------------------------- tending


def tend(state: ClusterState, now_ms: int) -> list[Followed]:
    """Deadlines that count no longer, then those that are past, each by group key."""
    return [*_lifted(state), *_expired(state, now_ms)]


def due_at(state: ClusterState) -> int | None:
    """When the first deadline that counts is past."""
    times = [found.at for key in _counting(state) if (found := deadline(state, key)) is not None]
    return min(times, default=None)


def _counting(state: ClusterState) -> list[str]:
    """Groups that wait with a deadline that has not expired, by key."""
    records, groups = state.records.of(WaitDeadline), state.groups
    own = {key: record for key, record in records.items() if key in groups and groups[key].uid == record.uid}
    keys = state.turns if state.records.of(WaitPolicy) else own
    expired = {key for key, record in own.items() if record.expired_at is not None}
    return [key for key in sorted(keys) if key not in expired and waits_since(state, key) is not None]


def _lifted(state: ClusterState) -> list[Followed]:
    found = []
    for key, record in sorted(state.records.of(WaitDeadline).items()):
        group = state.groups.get(key)
        if group is None or group.uid != record.uid or is_short(state, key):
            continue
        event = WaitDeadlineLifted(
            group.namespace,
            group.name,
            group.uid,
            group.generation,
            record.at,
            record.expired_at is not None,
        )
        turn = state.turns.get(key)
        found.append(Followed(event, turn.seq if turn is not None else None))
    return found


def _expired(state: ClusterState, now_ms: int) -> list[Followed]:
    found = []
    for key in _counting(state):
        until, since = deadline(state, key), waits_since(state, key)
        if until is None or since is None or until.at > now_ms:
            continue
        group = state.groups[key]
        # What is bound in an observed cluster is not ours to end; it was not when the deadline was set.
        action = "propose" if until.action == "close" and state.mode != "simulated" else until.action
        event = WaitDeadlineExpired(
            namespace=group.namespace,
            name=group.name,
            uid=group.uid,
            generation=group.generation,
            at=until.at,
            action=action,
            since=since,
            default=until.default,
            expired_at=now_ms,
        )
        cause = state.turns[key].seq
        found.append(Followed(event, cause))
        if action == "close":
            closing = closing_events(state, group, pods="group_ended", why="expired")
            found += [Followed(each, cause) for each in closing]
    return found


# ---------------------------------------------------------------- commands


def deadline_events(state: ClusterState, key: str, at: int | None, action: str, now_ms: int) -> list[Event]:
    """``at``: milliseconds, None to wait for as long as it takes. Raises Refused; paths are ``at`` and
    ``action``.
    """
    group = open_group(state, key)

    def problem(path: str, reason: str, message: str) -> Problem:
        return Problem("PodGroup", group.namespace, group.name, path, reason, message)

    problems = [problem("action", *wrong) for wrong in _action_problems(state, action, at is not None)]
    if at is not None and at <= now_ms:
        problems.append(problem("at", INVALID, "the deadline must be in the future"))
    if not is_short(state, key):
        message = "the group does not wait: it has minCount members on nodes, or they have finished"
        problems.append(problem("at", FORBIDDEN, message))
    if problems:
        raise Refused(problems)
    known = state.records.of(WaitDeadline).get(key)
    if known == WaitDeadline(key, group.uid, at, action):
        return []
    return [WaitDeadlineSet(group.namespace, group.name, group.uid, group.generation, at, action)]


def withdrawal_events(state: ClusterState, key: str) -> list[Event]:
    """The default of the cluster holds for the open generation; nothing where it does already. Raises
    Refused.
    """
    group = open_group(state, key)
    known = own_deadline(state, key)
    if known is None:
        return []
    return [WaitDeadlineWithdrawn(group.namespace, group.name, group.uid, group.generation, known.at)]


def policy_events(state: ClusterState, after: int | None, action: str) -> list[Event]:
    """``after``: milliseconds, None for no default. Raises Refused; paths are ``after`` and ``action``."""
    problems = [
        Problem("Cluster", "", "", "action", *wrong)
        for wrong in _action_problems(state, action, after is not None)
    ]
    if after is not None and not 0 < after <= LONGEST_MS:
        message = f"must be more than 0 and at most {LONGEST_MS // 86_400_000} days"
        problems.append(Problem("Cluster", "", "", "after", INVALID, message))
    if problems:
        raise Refused(problems)
    known = next(iter(state.records.of(WaitPolicy).values()), None)
    if known == (None if after is None else WaitPolicy(after, action)):
        return []
    return [WaitPolicyChanged(after, action)]


def _action_problems(state: ClusterState, action: str, ends: bool) -> list[tuple[str, str]]:
    """(reason, message)."""
    if action not in ACTIONS:
        return [(INVALID, f"{action!r} is none of {', '.join(ACTIONS)}")]
    if ends and action == "close" and state.mode != "simulated":
        return [(FORBIDDEN, "an observed cluster is only read: no group of it is closed here")]
    return []


def set_deadline(
    *,
    cluster: Cluster,
    namespace: str,
    name: str,
    at: int | None,
    action: str,
    actor: str,
    command_id: str = "",
) -> Outcome:
    """The open generation goes on waiting, until ``at`` (milliseconds) or (None) for as long as it takes.
    Raises Refused.
    """
    key = f"{namespace}/{name}"
    return execute(
        cluster,
        lambda state, now: deadline_events(state, key, at, action, now),
        actor=actor,
        command_id=command_id,
        request=f"deadline {key} {at} {action}",
    )


def withdraw_deadline(
    *, cluster: Cluster, namespace: str, name: str, actor: str, command_id: str = ""
) -> Outcome:
    """Back to the default of the cluster, which counts from when the wait began; a wait that is longer
    expires at once. Raises Refused.
    """
    key = f"{namespace}/{name}"
    return execute(
        cluster,
        lambda state, _: withdrawal_events(state, key),
        actor=actor,
        command_id=command_id,
        request=f"default deadline {key}",
    )


def set_policy(
    *, cluster: Cluster, after: int | None, action: str, actor: str, command_id: str = ""
) -> Outcome:
    """How long groups without a deadline of their own may wait, in milliseconds; None: no default. Waits
    that are longer already expire at once. Raises Refused.
    """
    return execute(
        cluster,
        lambda state, _: policy_events(state, after, action),
        actor=actor,
        command_id=command_id,
        request=f"wait policy {after} {action}",
    )

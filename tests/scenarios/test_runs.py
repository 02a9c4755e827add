"""Runs are carried out in slices and points: once, whatever is doubled, lost or killed on the way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from structlog.testing import capture_logs

from scheduling import tasks
from scheduling.locks import try_run_lock
from scheduling.models import Cluster, Run, RunPoint
from scheduling.scenarios import kinds, runs, workbench
from scheduling.scenarios.kinds import FANNED, SLICED, Slice
from scheduling.scenarios.signals import run_reached
from scheduling.services.problems import INVALID, Problem, Refused


class Died(BaseException):
    """Stands for a kill: nothing in the program catches it."""


class Clock:
    """Goes on by a second each time that somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


class Steps:
    """A sliced kind of five steps, which keeps in the run's table how far it is."""

    WORK = SLICED

    def __init__(self) -> None:
        self.worked: list[int] = []
        self.before: Callable[[Run, int], None] = lambda run, step: None

    def work(self, run: Run, spent: Callable[[], bool]) -> Slice:
        step = run.done
        while step < 5:
            self.before(run, step)
            self.worked.append(step)
            step += 1
            if spent():
                return Slice(step, 5, {"steps": 5} if step == 5 else None)
        return Slice(5, 5, {"steps": 5})


class Squares:
    """A fanned kind: point i is i * i."""

    WORK = FANNED

    def __init__(self) -> None:
        self.worked: list[int] = []
        self.before: Callable[[int], None] = lambda index: None

    def count(self, run: Run) -> int:
        number: int = run.document["points"]
        return number

    def point(self, run: Run, index: int) -> dict[str, Any]:
        self.before(index)
        self.worked.append(index)
        return {"square": index * index}

    def summary(self, run: Run, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {"squares": [result["square"] for result in results]}


def named(kind: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = ModuleType(f"scheduling.scenarios.{name}")
    for word in ("WORK", "work", "count", "point", "summary"):
        if hasattr(kind, word):
            setattr(module, word, getattr(kind, word))
    monkeypatch.setitem(sys.modules, f"scheduling.scenarios.{name}", module)
    monkeypatch.setitem(kinds._MODULES, name, name)
    return kind


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    return named(Steps(), "steps_test", monkeypatch)  # type: ignore[no-any-return]


@pytest.fixture
def squares(monkeypatch: pytest.MonkeyPatch) -> Squares:
    return named(Squares(), "squares_test", monkeypatch)  # type: ignore[no-any-return]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int, int]]]:
    """Messages for points; nothing goes to the broker."""
    asked: list[tuple[int, int, int]] = []
    monkeypatch.setattr(tasks.do_points, "delay", lambda *message: asked.append(message))
    yield asked


def asked(cluster: Cluster, kind: str, **document: Any) -> Run:
    return workbench.request(cluster=cluster, kind=kind, document=document, base=1, actor="ada")


def now(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def long_ago(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(touched_at=timezone.now() - runs.QUIET - timedelta(seconds=1))


class TestSliced:
    @pytest.fixture
    def run(self, cluster: Cluster, steps: Steps) -> Run:
        return asked(cluster, "steps_test")

    def test_goes_on_in_the_next_slice_where_the_last_one_ended(self, run: Run, steps: Steps) -> None:
        half = runs.SLICE / 2
        ticks = iter([0.0, half, 2 * half, 0.0, half, half, half, half])
        assert runs.work(run.pk, lambda: next(ticks))
        assert (now(run).status, now(run).done, now(run).total) == ("running", 2, 5)
        assert not runs.work(run.pk, lambda: next(ticks))
        assert steps.worked == [0, 1, 2, 3, 4]
        assert (now(run).status, now(run).result) == ("done", {"steps": 5})

    def test_a_message_for_a_run_that_is_over_does_nothing(self, run: Run, steps: Steps) -> None:
        runs.work(run.pk)
        assert not runs.work(run.pk)
        assert not runs.work(0)
        assert steps.worked == [0, 1, 2, 3, 4]

    @pytest.mark.django_db(transaction=True)
    def test_two_workers_are_never_at_it_at_once(self, run: Run, steps: Steps) -> None:
        other = connection.copy()
        try:
            with other.cursor() as cursor:
                cursor.execute("select pg_advisory_lock(7103, %s)", [run.pk])
            assert not runs.work(run.pk)
            assert steps.worked == [] and now(run).attempts == 0
        finally:
            # Closing gives it back to the pool of connections, where its session would keep the lock.
            with other.cursor() as cursor:
                cursor.execute("select pg_advisory_unlock(7103, %s)", [run.pk])
            other.close()
        assert not runs.work(run.pk)
        assert now(run).status == "done"

    def test_is_ended_between_two_slices_when_it_is_cancelled(self, run: Run, steps: Steps) -> None:
        def cancel(run: Run, step: int) -> None:
            if step == 1:
                workbench.cancel(cluster=run.cluster, number=run.number, actor="bob")

        steps.before = cancel
        runs.work(run.pk, Clock())
        assert (now(run).status, now(run).done, now(run).result) == ("cancelled", 0, None)
        assert not runs.work(run.pk)
        assert steps.worked == [0, 1, 2, 3, 4], "the slice in which it was cancelled was the last"

    def test_fails_with_what_is_refused(self, run: Run, steps: Steps) -> None:
        def refuse(run: Run, step: int) -> None:
            raise Refused([Problem("Scenario", "", "s", "steps[0].node", INVALID, "there is no node x")])

        steps.before = refuse
        assert not runs.work(run.pk)
        assert now(run).status == "failed"
        assert "steps[0].node" in now(run).error and "there is no node x" in now(run).error

    def test_fails_with_an_error_in_the_program_and_says_which(self, run: Run, steps: Steps) -> None:
        def fail(run: Run, step: int) -> None:
            raise ZeroDivisionError("of a test")

        steps.before = fail
        with capture_logs() as logs:
            assert not runs.work(run.pk)
        assert (now(run).status, now(run).error) == ("failed", "ZeroDivisionError: of a test")
        assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == ["run failed"]

    def test_a_database_that_was_away_is_no_fault_of_the_run(self, run: Run, steps: Steps) -> None:
        def away(run: Run, step: int) -> None:
            raise OperationalError("the server closed the connection")

        steps.before = away
        with pytest.raises(OperationalError):
            runs.work(run.pk)
        assert now(run).open
        steps.before = lambda run, step: None
        runs.work(run.pk)
        assert (now(run).status, now(run).attempts) == ("done", 0)

    def test_is_given_up_after_so_many_deaths_at_one_place(self, run: Run, steps: Steps) -> None:
        def die(run: Run, step: int) -> None:
            raise Died

        steps.before = die
        for _ in range(runs.MOST_ATTEMPTS):
            with pytest.raises(Died):
                runs.work(run.pk)
            assert now(run).open
        assert not runs.work(run.pk)
        assert (now(run).status, now(run).error) == (
            "failed",
            "given up: 3 workers died at the same place",
        )

    def test_a_slice_that_ends_is_a_new_start(self, run: Run, steps: Steps) -> None:
        deaths = iter([True, True, False, True, True, False, False, False, False])

        def die(run: Run, step: int) -> None:
            if next(deaths):
                raise Died

        steps.before = die
        clock = Clock()
        while now(run).open:
            try:
                runs.work(run.pk, lambda: clock() * runs.SLICE)
            except Died:
                continue
        assert now(run).status == "done"
        assert steps.worked == [0, 1, 2, 3, 4]


class TestFanned:
    @pytest.fixture
    def run(self, cluster: Cluster, squares: Squares) -> Run:
        return asked(cluster, "squares_test", points=50)

    def test_all_points_are_given_out_once(self, run: Run, squares: Squares) -> None:
        assert runs.is_fanned(run.pk)
        parts = runs.spread(run.pk)
        assert parts == [(0, 20), (20, 40), (40, 50)]
        assert (now(run).status, now(run).total) == ("running", 50)

    def test_whoever_does_the_last_point_ends_the_run(self, run: Run, squares: Squares) -> None:
        for first, last in reversed(runs.spread(run.pk)):
            assert now(run).open
            assert runs.points(run.pk, first, last) is None
        assert (now(run).status, now(run).done) == ("done", 50)
        assert now(run).result == {"squares": [index * index for index in range(50)]}
        assert sorted(squares.worked) == list(range(50))

    def test_a_message_that_comes_twice_does_nothing_twice(self, run: Run, squares: Squares) -> None:
        parts = runs.spread(run.pk)
        for first, last in [*parts[:2], *parts]:
            runs.points(run.pk, first, last)
        runs.points(run.pk, 0, 50)
        assert sorted(squares.worked) == list(range(50))
        assert RunPoint.objects.filter(run=run).count() == 50

    def test_what_two_do_at_the_same_time_counts_once(self, run: Run, squares: Squares) -> None:
        runs.spread(run.pk)
        again = [True]

        def doubled(index: int) -> None:
            if index == 10 and again.pop():
                again.append(False)
                runs.points(run.pk, 0, 20)

        squares.before = doubled
        runs.points(run.pk, 0, 20)
        assert list(RunPoint.objects.filter(run=run).values_list("index", flat=True)) == list(range(20))
        assert now(run).done == 20

    def test_the_rest_of_a_long_message_goes_to_the_end_of_the_queue(
        self, run: Run, squares: Squares, sent: list[tuple[int, int, int]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(runs, "TURN", -1.0)
        runs.spread(run.pk)
        assert runs.points(run.pk, 0, 20) == 0
        monkeypatch.setattr(runs, "TURN", 3.5)
        assert runs.points(run.pk, 0, 20, Clock()) == 3
        assert list(RunPoint.objects.filter(run=run).values_list("index", flat=True)) == [0, 1, 2]
        monkeypatch.setattr(runs, "TURN", -1.0)
        tasks.do_points(run.pk, 5, 20)
        assert sent == [(run.pk, 5, 20)]

    def test_what_a_dead_worker_left_is_given_out_again(self, run: Run, squares: Squares) -> None:
        parts = runs.spread(run.pk)

        def die(index: int) -> None:
            if index == 7:
                raise Died

        squares.before = die
        with pytest.raises(Died):
            runs.points(run.pk, *parts[0], keep=0)
        runs.points(run.pk, *parts[1])
        assert runs.open_runs() == []
        long_ago(run)
        assert runs.open_runs() == [run.pk]
        assert runs.open_runs() == [], "the queue does not grow at every look"
        assert runs.spread(run.pk) == [(7, 20), (40, 50)]
        assert runs.open_runs() == [], "it was looked after"
        squares.before = lambda index: None
        for part in [(7, 20), (40, 50)]:
            runs.points(run.pk, *part)
        assert now(run).status == "done"
        assert sorted(squares.worked) == list(range(50))

    def test_a_run_whose_end_got_lost_is_ended_by_the_sweep(self, run: Run, squares: Squares) -> None:
        parts = runs.spread(run.pk)

        def die(*, point: str, **_: object) -> None:
            if point == "kept" and RunPoint.objects.filter(run=run).count() == 50:
                raise Died

        run_reached.connect(die)
        try:
            for part in parts[:-1]:
                runs.points(run.pk, *part)
            with pytest.raises(Died):
                runs.points(run.pk, *parts[-1])
        finally:
            run_reached.disconnect(die)
        assert now(run).open
        assert runs.spread(run.pk) == []
        assert now(run).status == "done"

    def test_a_point_that_kills_every_worker_is_named_when_the_run_is_given_up(
        self, run: Run, squares: Squares, sent: list[tuple[int, int, int]], stack: Any
    ) -> None:
        runs.spread(run.pk)

        def die(index: int) -> None:
            if index == 7:
                raise Died

        squares.before = die
        monkey = pytest.MonkeyPatch()
        with monkey.context() as patch:
            patch.setattr(tasks, "_over", lambda server, key: None)
            for _ in range(runs.MOST_ATTEMPTS):
                with pytest.raises(Died):
                    tasks.do_points(run.pk, 0, 20)
        assert now(run).open
        tasks.do_points(run.pk, 20, 40)
        assert now(run).open, "other points are not to blame"
        tasks.do_points(run.pk, 0, 20)
        assert (now(run).status, now(run).error) == ("failed", "given up: 3 workers died at point 7")
        assert RunPoint.objects.filter(run=run, index__lt=20).count() == 7

    def test_points_end_when_the_run_is_cancelled(self, run: Run, squares: Squares) -> None:
        runs.spread(run.pk)

        def cancel(index: int) -> None:
            if index == 3:
                workbench.cancel(cluster=run.cluster, number=run.number, actor="bob")

        squares.before = cancel
        assert runs.points(run.pk, 0, 20, keep=0) is None
        assert squares.worked == [0, 1, 2, 3]
        assert runs.points(run.pk, 20, 40) is None
        assert runs.spread(run.pk) == []
        assert (now(run).status, now(run).done) == ("cancelled", 0)

    def test_fails_with_what_is_refused(self, run: Run, squares: Squares) -> None:
        def refuse(index: int) -> None:
            raise Refused([Problem("Batch", "", "", "axes[0]", INVALID, "no such rack")])

        squares.before = refuse
        runs.spread(run.pk)
        assert runs.points(run.pk, 0, 20) is None
        assert now(run).status == "failed" and "axes[0]" in now(run).error

    def test_a_database_that_was_away_is_no_fault_of_the_run(self, run: Run, squares: Squares) -> None:
        def away(index: int) -> None:
            raise OperationalError("the server closed the connection")

        squares.before = away
        runs.spread(run.pk)
        with pytest.raises(OperationalError):
            tasks.do_points(run.pk, 0, 20)
        assert now(run).open
        squares.before = lambda index: None
        for part in runs.spread(run.pk):
            runs.points(run.pk, *part)
        assert now(run).status == "done"

    def test_one_without_points_is_done_at_once(self, cluster: Cluster, squares: Squares) -> None:
        run = asked(cluster, "squares_test", points=0)
        assert runs.spread(run.pk) == []
        assert (now(run).status, now(run).result) == ("done", {"squares": []})


def test_the_lock_of_a_run_is_free_after_its_slice(cluster: Cluster, steps: Steps) -> None:
    run = asked(cluster, "steps_test")
    runs.work(run.pk)
    with try_run_lock(run.pk) as free:
        assert free


def test_a_run_of_a_kind_that_only_a_newer_console_knows_is_left_to_it(
    cluster: Cluster, steps: Steps
) -> None:
    run = asked(cluster, "steps_test")
    Run.objects.filter(pk=run.pk).update(kind="later")
    assert runs.open_runs(timedelta(seconds=-1)) == []
    Run.objects.filter(pk=run.pk).update(kind="steps_test")
    assert runs.open_runs(timedelta(seconds=-1)) == [run.pk]

"""The lock that keeps the cycles of one cluster apart."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from scheduling.locks import LockClass, try_cluster_cycle_lock

pytestmark = pytest.mark.django_db(transaction=True)


def free_elsewhere(cluster_id: int) -> bool:
    """Whether another connection gets the lock."""

    def look() -> bool:
        try:
            with try_cluster_cycle_lock(cluster_id) as held:
                return held
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(look).result(30)


def test_one_runner_holds_a_cluster_and_others_skip_it() -> None:
    with try_cluster_cycle_lock(1) as held:
        assert held
        assert not free_elsewhere(1)
        assert free_elsewhere(2)
    assert free_elsewhere(1)


def test_it_is_freed_when_the_cycle_fails() -> None:
    with pytest.raises(RuntimeError), try_cluster_cycle_lock(1):
        raise RuntimeError
    assert free_elsewhere(1)


def test_it_is_held_over_several_transactions() -> None:
    with try_cluster_cycle_lock(1):
        with transaction.atomic():
            pass
        with pytest.raises(RuntimeError), transaction.atomic():
            raise RuntimeError
        assert not free_elsewhere(1)


def test_it_is_freed_when_the_connection_dies() -> None:
    with try_cluster_cycle_lock(1) as held:
        assert held
        with connection.cursor() as cursor:
            cursor.execute("select pg_backend_pid()")
            pid = cursor.fetchone()[0]

        def kill() -> None:
            with connection.cursor() as cursor:
                cursor.execute("select pg_terminate_backend(%s, 10000)", [pid])
            connection.close()

        with ThreadPoolExecutor(1) as pool:
            pool.submit(kill).result(30)
        assert free_elsewhere(1)
    connection.close()


def test_no_two_kinds_of_lock_share_a_number() -> None:
    assert len({int(kind) for kind in LockClass}) == len(LockClass.__members__)

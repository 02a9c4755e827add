"""Django's PostgreSQL backend, whose pool serves again at once after the server was started again.

The pool's own check (CONN_HEALTH_CHECKS) looks at one connection after the other and waits twice as long
after each that is dead: with some of them in the pool a request fails before it comes to a living one.
"""

from __future__ import annotations

from typing import Any

from django.db.backends.postgresql import base
from psycopg import OperationalError
from psycopg_pool import ConnectionPool


class DatabaseWrapper(base.DatabaseWrapper):
    pool: ConnectionPool[Any] | None  # a property of the base class that its stubs do not know

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        if self.pool is None:
            return connection
        try:
            connection.execute("")
        except OperationalError:
            # The others that lie in the pool are of the same server: none of them is given to anybody.
            self.pool.putconn(connection)
            self.pool.drain()
            connection = super().get_new_connection(conn_params)
        return connection

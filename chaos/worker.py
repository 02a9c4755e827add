"""`celery -A chaos.worker`: the console's Celery application, to be stopped at the points of
`chaos.points`.
"""

from chaos import points
from tasweb.celery import app

__all__ = ["app"]

points.listen()

"""`uvicorn chaos.web:application`: the console's ASGI application, to be stopped at the points of
`chaos.points`.
"""

from chaos import points
from tasweb.asgi import application

__all__ = ["application"]

points.listen()

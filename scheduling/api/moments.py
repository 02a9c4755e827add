"""A moment of the past that a request names."""

from __future__ import annotations

from scheduling.api.errors import CODES, ApiError
from scheduling.api.schemas import ProblemOut
from scheduling.models import Cluster
from scheduling.selectors.moments import BadMoment, Fault, Moment, moment
from scheduling.wording import moments as wording

_STATUS = {Fault.UNREADABLE: 422, Fault.NOT_KEPT: 410}


def find_moment(cluster: Cluster, text: str, parameter: str) -> Moment:
    """Raises ApiError with a sentence about the parameter: 422 for what is no moment, 410 for one that is not
    kept any more, 404 for one outside of the log.
    """
    try:
        return moment(cluster, text)
    except BadMoment as error:
        status = _STATUS.get(error.fault, 404)
        message = wording.sentence(error)
        problem = ProblemOut(kind="", path=parameter, reason=CODES[status], message=message)
        raise ApiError(status, message, [problem]) from error

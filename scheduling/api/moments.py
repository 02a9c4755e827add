"""A moment of the past that a request names."""

from __future__ import annotations

from scheduling.api.errors import ApiError
from scheduling.models import Cluster
from scheduling.selectors.moments import BadMoment, Fault, Moment, moment
from scheduling.wording import moments as wording

_STATUS = {Fault.UNREADABLE: 422, Fault.NOT_KEPT: 410}


def find_moment(cluster: Cluster, text: str) -> Moment:
    """Raises ApiError with a sentence: 422 for what is no moment, 410 for one that is not kept any more, 404
    for one outside of the log.
    """
    try:
        return moment(cluster, text)
    except BadMoment as error:
        raise ApiError(_STATUS.get(error.fault, 404), wording.sentence(error)) from error

"""Documents as bodies: read piece by piece up to a limit."""

import pytest
from django.test import RequestFactory

from scheduling.api import bodies
from scheduling.api.errors import ApiError


def read(data: bytes, limit: int = 3 * bodies.CHUNK) -> bytes:
    request = RequestFactory().post("/", data, content_type="application/octet-stream")
    return bodies.read(request, limit=limit)


@pytest.mark.parametrize("size", [1, bodies.CHUNK, bodies.CHUNK + 1, 3 * bodies.CHUNK])
def test_a_body_up_to_the_limit_is_taken_whole(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    assert read(data[:size]) == data[:size]


def test_one_byte_more_than_the_limit_is_413() -> None:
    with pytest.raises(ApiError) as error:
        read(bytes(3 * bodies.CHUNK + 1))
    assert error.value.status_code == 413


def test_an_empty_body_is_400() -> None:
    with pytest.raises(ApiError) as error:
        read(b"")
    assert error.value.status_code == 400

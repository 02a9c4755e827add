"""Documents as bodies: limits before and after unpacking, gzip of every form."""

import gzip

import pytest
from django.test import RequestFactory

from scheduling.api import bodies
from scheduling.api.errors import ApiError


def read(data: bytes, limit: int = 1000) -> bytes:
    request = RequestFactory().post("/", data, content_type="application/octet-stream")
    return bodies.read(request, limit=limit)


def test_a_plain_body_is_taken_as_it_is() -> None:
    assert read(b"kind: List") == b"kind: List"


def test_gzip_is_told_by_its_first_bytes_and_may_have_several_members() -> None:
    assert read(gzip.compress(b"kind: ") + gzip.compress(b"List")) == b"kind: List"


def test_a_body_at_the_limit_is_taken_and_one_byte_more_is_413() -> None:
    assert len(read(b"x" * 1000)) == 1000
    with pytest.raises(ApiError) as error:
        read(b"x" * 1001)
    assert error.value.status_code == 413


@pytest.mark.parametrize("packed", [gzip.compress(bytes(1001)), gzip.compress(bytes(600)) * 2])
def test_a_small_gzip_that_unpacks_beyond_the_limit_is_413(packed: bytes) -> None:
    assert len(packed) < 1000
    with pytest.raises(ApiError) as error:
        read(packed)
    assert error.value.status_code == 413


@pytest.mark.parametrize(
    "broken", [gzip.compress(b"kind: List")[:-4], b"\x1f\x8bnot gzip", gzip.compress(b"x") + b"rest"]
)
def test_a_broken_gzip_is_400(broken: bytes) -> None:
    with pytest.raises(ApiError) as error:
        read(broken)
    assert error.value.status_code == 400


def test_an_empty_body_is_400() -> None:
    with pytest.raises(ApiError) as error:
        read(b"")
    assert error.value.status_code == 400

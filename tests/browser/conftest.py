"""Browser tests see the translations as they are in the sources now."""

import pytest
from django.conf import settings

from tasweb.stack.translations import compile_catalogues


@pytest.fixture(scope="session", autouse=True)
def _translations_are_compiled() -> None:
    compile_catalogues(settings.BASE_DIR / "locale")

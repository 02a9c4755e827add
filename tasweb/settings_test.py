"""Settings of the test run: the console's own, on the throw-away servers that `tasweb.stack.throwaway`
names."""

from tasweb.stack import throwaway

throwaway.reserve()

from tasweb.settings import *  # noqa: E402, F403
from tasweb.settings import DATABASES, LOGGING  # noqa: E402

DATABASES["default"]["ENGINE"] = "tests.postgresql"

# The append-only triggers let TRUNCATE pass for a session that says this; tests flush with it.
_options = DATABASES["default"]["OPTIONS"]
_options["options"] = f"{_options['options']} -c tas.test_database=on"

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
LOGGING = {**LOGGING, "root": {"handlers": ["stderr"], "level": "WARNING"}}

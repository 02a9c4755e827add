"""Settings: everything that differs between machines comes from environment variables
(docs/operations.md)."""

import os
import sys
from pathlib import Path

import django_stubs_ext
import environ
import structlog
from django.utils.translation import gettext_lazy as _

django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

DEBUG = env.bool("DEBUG", default=False)
# Empty when not given: Django then refuses with a sentence of its own at the first use, not at import.
SECRET_KEY = env("SECRET_KEY", default="")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "channels",
    "ninja",  # its API browser from our own static files
    "scheduling",
    "tasweb",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "tasweb.middleware.content_security_policy",
    "scheduling.api.middleware.one_form_of_errors",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "tasweb.middleware.text_only",
    "scheduling.console.unavailable.Unavailable",
]

ROOT_URLCONF = "tasweb.urls"
ASGI_APPLICATION = "tasweb.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# --- Database: the runtime role owns nothing; only `migrate` and `retention` connect as the owner. ---

DATABASE_URL = env("DATABASE_URL", default="postgres:///tas")
DATABASE_OWNER_URL = env("DATABASE_OWNER_URL", default=DATABASE_URL)
AS_OWNER = sys.argv[1:2] in (["migrate"], ["retention"])
IN_WEB_PROCESS = env("TAS_PROCESS", default="") == "web"

DATABASES = {"default": env.db_url_config(DATABASE_OWNER_URL if AS_OWNER else DATABASE_URL)}
# Who is granted the right to read and append by the migrations of the ledger.
TAS_RUNTIME_ROLE = env("TAS_RUNTIME_ROLE", default=env.db_url_config(DATABASE_URL).get("USER", ""))

_database_options = DATABASES["default"].setdefault("OPTIONS", {})
_database_options.setdefault("application_name", "tas-" + env("TAS_PROCESS", default="command"))
# The statements of the log and the tables are few, long and always the same: planned once for a connection.
_database_options.setdefault("prepare_threshold", 5)
if not AS_OWNER:
    _session = "-c lock_timeout=10s -c idle_in_transaction_session_timeout=120s"
    if IN_WEB_PROCESS:
        _session += " -c statement_timeout=30s"
    _database_options["options"] = f"{_database_options.get('options', '')} {_session}".strip()
if IN_WEB_PROCESS:
    # The pool belongs to the web process: in a prefork worker it would be torn down at every task.
    DATABASES["default"]["ENGINE"] = "tasweb.postgresql"
    _database_options["pool"] = {
        "min_size": 1,
        "max_size": env.int("TAS_DATABASE_POOL", default=10),
        "timeout": 5,  # how long a request waits for a server that is being started again
        # Between attempts to connect the pool waits twice as long each time. Giving up soon lets the next
        # request begin anew; else the console would stay away for as long again as the server was.
        "reconnect_timeout": 2,
    }
else:
    DATABASES["default"]["CONN_MAX_AGE"] = 600
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Signs the heads of logs that `verify_log --export-heads` notes; read by that command only.
TAS_HEADS_KEY = env("TAS_HEADS_KEY", default="")

# --- Redis or Valkey: hints between processes and the task queue, never the truth. ---

REDIS_URL = env("REDIS_URL", default="redis://localhost:6379/0")

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "tas"},
    }
}

CELERY_BROKER_URL = (
    "redis+socket" + REDIS_URL.removeprefix("unix") if REDIS_URL.startswith("unix:") else REDIS_URL
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # else a worker ends itself when Redis is away for 50 minutes
# A message whose worker died comes back after `visibility_timeout`; the hard time limit below keeps every
# task shorter than that, so a message never comes back while its task still runs.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 120,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    # A link that swallows everything must not keep a request for ever that has committed already.
    "socket_connect_timeout": 5,
    "socket_timeout": 15,
}
# What people try out has workers of its own: a cycle must not wait for it. They take from their two queues in
# turn, so that the many points of a batch do not keep a scenario waiting.
CELERY_TASK_ROUTES = {
    "scheduling.tasks.begin_run": {"queue": "workbench"},
    "scheduling.tasks.work_on_run": {"queue": "workbench"},
    "scheduling.tasks.do_points": {"queue": "points"},
}
CELERY_TASK_TIME_LIMIT = 60
CELERY_TASK_SOFT_TIME_LIMIT = 45
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_CONSUMER = "tasweb.consumer:LastingConsumer"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 10
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = {
    # A wake-up can be lost with the broker: the sweep finds every cluster whose log is past its last cycle.
    # A tick that waited longer than its period says nothing new, so it expires.
    "sweep": {"task": "scheduling.tasks.sweep", "schedule": 2.0, "options": {"expires": 2}},
}

# --- Language and time ---

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("ja", _("Japanese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

# --- Sign-in ---

LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]

# Text pasted into a form: the dump of a thousand nodes with their pods has 5 MB. Files are not held to this.
DATA_UPLOAD_MAX_MEMORY_SIZE = 32 << 20
# The form of a scenario with as many steps as one may have.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000

# --- Behind TLS: set TAS_HTTPS=1 where a proxy terminates it. ---

HTTPS = env.bool("TAS_HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SILENCED_SYSTEM_CHECKS = [
    "security.W008",  # redirecting to HTTPS is the proxy's business; /health must answer plain HTTP
    "staticfiles.W004",  # before the first front-end build the folder of static files is not there
]
if HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 3600

# --- Static files, built by frontend/build.mjs ---

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "frontend" / "dist"]
# With a folder for `collectstatic` (the container image) files get names by content and may be cached for
# ever.
STATIC_ROOT = env("TAS_STATIC_ROOT", default=None)
WHITENOISE_USE_FINDERS = STATIC_ROOT is None
if STATIC_ROOT is not None:
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }

# --- Logging: one JSON object a line on standard error ---

_shared_processors: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]
structlog.configure(
    processors=[*_shared_processors, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": structlog.stdlib.ProcessorFormatter,
            "foreign_pre_chain": [*_shared_processors, structlog.stdlib.ExtraAdder()],
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(default=str),
            ],
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": env("TAS_LOG_LEVEL", default="INFO")},
    "loggers": {
        # These configure handlers of their own; here everything goes through the one above.
        **{name: {"handlers": [], "propagate": True} for name in ("django", "django.server", "uvicorn")},
        # No line for each request or each tick: addresses may hold a sign-in token, and ticks say nothing.
        "uvicorn.access": {"handlers": [], "propagate": False},
        **{
            name: {"level": "WARNING"}
            for name in ("celery.app.trace", "celery.beat", "celery.worker.strategy")
        },
    },
}

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasweb.settings")

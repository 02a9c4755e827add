"""The Celery application: `celery -A tasweb.celery worker` and `beat`."""

import os
from pathlib import Path

from celery import Celery
from celery.signals import beat_init, setup_logging, worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasweb.settings")

app = Celery("tasweb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_django_logging(**_kwargs: object) -> None:
    """Connected, so Celery leaves logging as the settings have it."""


@worker_ready.connect
@beat_init.connect
def mark_ready(**_kwargs: object) -> None:
    """Tell the supervisor that this process serves, where it asked for it."""
    mark = os.environ.get("TAS_READY_FILE")
    if mark:
        Path(mark).touch()

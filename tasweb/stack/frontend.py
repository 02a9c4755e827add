"""The front-end build: which Node runs it, and when it must run."""


def build() -> None: ...

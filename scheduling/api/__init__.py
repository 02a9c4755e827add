"""The REST API: thin routers over services and selectors, described by an OpenAPI document."""

"""Conformance cases (tests/conformance/README.md) run through importer and cycle, without a database."""

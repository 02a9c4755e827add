"""The append-only event log: catalogue, canonical form, append, read, fold, verify."""

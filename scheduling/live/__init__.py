"""What the browser is told while it watches: hints, numbered deltas of the rack map, heartbeats."""

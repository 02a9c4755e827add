"""The API of a cluster whose log or tables are of another version of the console."""

CORDON = "/clusters/demo/nodes/n11/cordon"

"""The tables. The log (stream, event, command) is the truth; everything else but tokens can be rebuilt from
it, with the files of archived events where there are some.
"""

from scheduling.models.api_token import ApiToken
from scheduling.models.archive import Archive, Base
from scheduling.models.cluster import Cluster
from scheduling.models.command import Command
from scheduling.models.event import Event
from scheduling.models.node_row import NodeRow
from scheduling.models.pod_group_row import PodGroupRow
from scheduling.models.pod_row import PodRow
from scheduling.models.snapshot import Snapshot
from scheduling.models.stream import Stream, StreamHead
from scheduling.models.table_head import TableHead
from scheduling.models.workbench import Run, RunFile, RunPoint, Scenario

__all__ = [
    "ApiToken",
    "Archive",
    "Base",
    "Cluster",
    "Command",
    "Event",
    "NodeRow",
    "PodGroupRow",
    "PodRow",
    "Run",
    "RunFile",
    "RunPoint",
    "Scenario",
    "Snapshot",
    "Stream",
    "StreamHead",
    "TableHead",
]

"""What the node is, and which tools it runs, for a paired device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.access import Scope
from homing_crypto.rpc_guard import current_caller
from homing_proto.codec.nodes import encode_node_info
from homing_proto.codec.tools import encode_tool_spec
from homing_proto.v1 import node_pb2 as wire
from homing_proto.v1 import node_pb2_grpc

from homing_node.describe import NodeFacts, describe_node
from homing_node.tools import tools_for

if TYPE_CHECKING:
    import grpc

    from homing_node.devices.admission import Admission
    from homing_node.generations.runner import Generations
    from homing_node.models.pool import ModelPool
    from homing_node.tools import HomeTools

    Context = grpc.aio.ServicerContext[Any, Any]


class NodeService(node_pb2_grpc.NodeServiceServicer):
    """Describes the node. See `node.proto`."""

    def __init__(
        self, facts: NodeFacts, models: ModelPool, generations: Generations, admission: Admission
    ) -> None:
        """Keep where to look."""
        self._facts = facts
        self._models = models
        self._generations = generations
        self._admission = admission

    async def GetNode(  # noqa: N802  # the wire's name
        self, request: wire.GetNodeRequest, context: Context
    ) -> wire.GetNodeResponse:
        """Capabilities, models and load, and what the caller is and may use here."""
        del request, context
        caller = current_caller()
        own = self._admission.own_limits(caller.device)
        return encode_node_info(
            describe_node(self._facts, self._models, self._generations, caller, own)
        )


class ToolsService(node_pb2_grpc.ToolsServiceServicer):
    """Lists home tools.

    Args:
        tools: what the node can run.
        admission: knows which of it a device may use.
    """

    def __init__(self, tools: HomeTools, admission: Admission) -> None:
        """Keep where to look."""
        self._tools = tools
        self._admission = admission

    async def ListTools(  # noqa: N802  # the wire's name
        self, request: wire.ListToolsRequest, context: Context
    ) -> wire.ListToolsResponse:
        """Those that the calling device may use: they run as jobs, sealed for its key."""
        del request, context
        device = current_caller().device
        limits = self._admission.standing(device).limits
        if Scope.JOBS not in device.scopes or not device.hpke_public_key:
            return wire.ListToolsResponse()
        return wire.ListToolsResponse(
            tools=[encode_tool_spec(tool) for tool in tools_for(self._tools, limits)]
        )

"""What the node is, and which tools it runs, for a paired device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_crypto.rpc_guard import current_caller
from homing_proto.codec.nodes import encode_node_info
from homing_proto.v1 import node_pb2 as wire
from homing_proto.v1 import node_pb2_grpc

from homing_node.describe import NodeFacts, describe_node

if TYPE_CHECKING:
    import grpc

    from homing_node.generations.runner import Generations
    from homing_node.models.pool import ModelPool

    Context = grpc.aio.ServicerContext[Any, Any]


class NodeService(node_pb2_grpc.NodeServiceServicer):
    """Describes the node. See `node.proto`."""

    def __init__(self, facts: NodeFacts, models: ModelPool, generations: Generations) -> None:
        """Keep where to look."""
        self._facts = facts
        self._models = models
        self._generations = generations

    async def GetNode(  # noqa: N802  # the wire's name
        self, request: wire.GetNodeRequest, context: Context
    ) -> wire.GetNodeResponse:
        """Capabilities, models and load, and what the caller is here."""
        del request, context
        return encode_node_info(
            describe_node(self._facts, self._models, self._generations, current_caller())
        )


class ToolsService(node_pb2_grpc.ToolsServiceServicer):
    """Lists home tools. There are none yet, and the list says so."""

    async def ListTools(  # noqa: N802  # the wire's name
        self, request: wire.ListToolsRequest, context: Context
    ) -> wire.ListToolsResponse:
        """An empty list."""
        del request, context
        return wire.ListToolsResponse()

"""The tools for documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.tools.home.index_documents import IndexDocuments
from homing_agent.tools.home.search_documents import SearchDocuments
from homing_agent.tools.home.summarise_folder import SummariseFolder

if TYPE_CHECKING:
    from homing_agent.documents.library import Library
    from homing_agent.tool import Tool


def document_tools(library: Library) -> tuple[Tool, ...]:
    """All of them, over one library, which its maker closes."""
    return SearchDocuments(library), SummariseFolder(library), IndexDocuments(library)

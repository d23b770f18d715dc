"""Summarising a folder of documents with the node's own model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from homing_core.errors import UnavailableError
from homing_core.provenance import Trust
from homing_core.tools import EffectClass, Place, ToolSpec

from homing_agent.documents.summary.folder import Summariser
from homing_agent.documents.summary.shape import full_list, listed, only_repeats
from homing_agent.documents.summary.writer import Writer
from homing_agent.tool import OutputFile, ToolContext, ToolOutput
from homing_agent.tools.arguments import optional_text
from homing_agent.tools.home.documents import (
    FOLDER,
    MOST_FOLDER,
    SERVER,
    DocumentTool,
    shortfalls,
)

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.canonical import JsonObject

    from homing_agent.documents.summary.folder import FolderSummary

_FILE: Final = "summary.md"


class SummariseFolder(DocumentTool):
    """Map and reduce over a folder: cited by file, kept file by file, so that it goes on."""

    SPEC = ToolSpec(
        name="summarise_folder",
        description=(
            "Read every document in a folder on the home computer and summarise them, or answer a "
            "question from them, naming the files."
        ),
        parameters={
            "type": "object",
            "properties": {
                "folder": FOLDER,
                "question": {
                    "type": "string",
                    "description": "what the user wants to know; leave it out for a summary",
                },
            },
            "required": ["folder"],
        },
        effect=EffectClass.READ,
        place=Place.HOME,
        server=SERVER,
        idempotent=True,
        output_trust=Trust.UNTRUSTED,
        typical_ms=120_000,
    )

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        place = self.library.roots.find(optional_text(arguments, "folder", most=MOST_FOLDER))
        question = optional_text(arguments, "question")
        if context.engine is None:
            msg = "there is no model on this computer that could summarise"
            raise UnavailableError(msg, "Start the node with a model.")
        refreshed = await self.library.refresh(place, context.report)
        writer = Writer(context.engine)
        summariser = Summariser(self.library, writer, context.notebook, context.report, question)
        summary = await summariser.run(place)
        said = shortfalls(refreshed)
        if not summary.notes:
            reasons = [f"{name}: {why}." for name, why in summary.left_out]
            text = "\n".join([f"{place.shown} holds no document with text.", *reasons, *said])
            return ToolOutput(text, text, source=place.shown)
        shown, shortened = listed(summary.notes, summary.left_out)
        whole = summary.text or "None of the documents says anything about that."
        if only_repeats(whole, summary.notes):
            whole = ""
        text = "\n\n".join(filter(None, [whole, shown, *said]))
        files: tuple[OutputFile, ...] = ()
        if shortened and context.folder is not None:
            files = (await asyncio.to_thread(_written, context.folder, whole, summary),)
        return ToolOutput(text, text, source=place.shown, files=files)


def _written(folder: Path, whole: str, summary: FolderSummary) -> OutputFile:
    """The whole list, where it is too long for an answer."""
    path = folder / _FILE
    text = f"{whole}\n\n{full_list(summary.notes, summary.left_out)}\n".lstrip()
    path.write_text(text, "utf-8")
    return OutputFile(path, _FILE, "text/markdown")

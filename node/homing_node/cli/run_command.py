"""`homing-node run`."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, StandIn

_EXAMPLES = """
[bold]Examples[/bold]

homing-node run

homing-node run --name attic --port 47200 --model ./my-model.gguf
"""


def overrides(**given: str | int | bool | None) -> dict[str, str]:
    """Options as the environment variables that say the same; None says nothing.

    Options win over the environment, and the environment over the file: so they go the same way.
    """
    from homing_node.config import ENVIRONMENT_PREFIX  # noqa: PLC0415  # keep help quick

    # JSON's texts, numbers and booleans are TOML's too: a name that looks like a number stays one.
    return {
        f"{ENVIRONMENT_PREFIX}{key}".upper(): json.dumps(value, ensure_ascii=False)
        for key, value in given.items()
        if value is not None
    }


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", epilog=_EXAMPLES)(run)


def run(  # noqa: PLR0913  # options of the command line
    *,
    name: Annotated[
        str | None,
        typer.Option(help="What phones see.", show_default="the name of this machine"),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default="all")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="TCP port; 0 takes any free one.", show_default="47100"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Catalog name or path of a GGUF file.",
            show_default="the product's own",
        ),
    ] = None,
    stand_in: StandIn = False,
    mdns: Annotated[
        bool, typer.Option("--mdns/--no-mdns", help="Announce this node on the local network.")
    ] = True,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Run the node until it is told to stop (Ctrl-C, SIGTERM).

    On a terminal it shows how it is and writes its log into the data directory; otherwise the log
    goes to standard error, one JSON object a line.
    """
    changes = overrides(
        node_name=name,
        listen_host=host,
        listen_port=port,
        model_name=model,
        model_stand_in=stand_in or None,
        discovery_mdns=None if mdns else False,
    )
    asyncio.run(_run(Setup(data_dir, config), changes, as_json=as_json))


async def _run(setup: Setup, changes: dict[str, str], *, as_json: bool) -> None:
    import sys  # noqa: PLC0415  # keep help quick

    from homing_agent.runtime.logs import configure_logging  # noqa: PLC0415  # as above
    from homing_agent.runtime.paths import prepare_data_dir  # noqa: PLC0415  # as above
    from homing_agent.runtime.unlock import (  # noqa: PLC0415  # as above
        somebody_can_be_asked,
        unlocked,
    )
    from homing_inference.catalog.store import Store  # noqa: PLC0415  # as above

    from homing_node.assembly import NodeOptions  # noqa: PLC0415  # as above
    from homing_node.cli.console import out  # noqa: PLC0415  # as above
    from homing_node.cli.screen import JsonLines, Screen, Silence  # noqa: PLC0415  # as above
    from homing_node.daemon import run_daemon  # noqa: PLC0415  # as above
    from homing_node.home_tools import home_tools  # noqa: PLC0415  # as above
    from homing_node.key_place import key_place  # noqa: PLC0415  # as above
    from homing_node.models.sources import (  # noqa: PLC0415  # as above
        configured_models,
        forget_other_states,
    )

    paths = setup.paths
    config = setup.load(changes)
    prepare_data_dir(paths)
    watched = sys.stderr.isatty()
    configure_logging(config.node.log_level, paths.log_file if watched else None)
    vault = unlocked(key_place(paths), interactive=somebody_can_be_asked())
    states = paths.data_dir / "states"
    models = configured_models(config, Store(), states)
    await asyncio.to_thread(forget_other_states, config, states)
    options = NodeOptions(paths, config, models, tools=home_tools(config, paths), vault=vault)
    if as_json:
        await run_daemon(options, JsonLines())
    elif out.is_terminal:
        with Screen(out, setup, paths.log_file if watched else None) as screen:
            await run_daemon(options, screen)
    else:
        await run_daemon(options, Silence())

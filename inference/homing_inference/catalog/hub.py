"""Models from the Hugging Face hub, through `huggingface_hub`.

The hub's own listing names the exact file, its size, its SHA-256 and the commit; the transfer is
pinned to that commit and checked against that hash. `HF_ENDPOINT`, `HF_HUB_OFFLINE` and the user's
token count as everywhere else.
"""

from __future__ import annotations

import asyncio
import fnmatch
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.errors import (
    InvalidDataError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)
from homing_core.labels import clean_label

from homing_inference.catalog.models import HubFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_inference.catalog.download import Retry
    from homing_inference.catalog.models import ModelEntry
    from homing_inference.catalog.progress import Progress
    from homing_inference.catalog.store import Store, StoredModel

_HOST = "The Hugging Face hub"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_MAX_SIZE = 1 << 42
_SPLIT = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file in the hub's listing.

    Attributes:
        name: path inside the repository.
        size: bytes; 0 if the listing does not say.
        sha256: lower-case hex; empty if the hub keeps none (a file outside LFS).
    """

    name: str
    size: int
    sha256: str


def choose_file(files: Iterable[ListedFile], pattern: str, repo: str) -> ListedFile:
    """The file that the pattern means; of several the one with the shortest name.

    Raises:
        NotFoundError: none fits.
        InvalidDataError: the listing gives no usable size or hash for it.
    """
    every = [file for file in files if file.name.lower().endswith(".gguf")]
    fits = [
        file
        for file in every
        if fnmatch.fnmatchcase(file.name.lower(), pattern)
        and not _SPLIT.search(file.name)
        and "mmproj" not in file.name.lower()
    ]
    if not fits:
        there = ", ".join(clean_label(file.name) for file in every[:8]) or "no GGUF file at all"
        msg = f"{repo} holds no file like {pattern} (it holds: {there})"
        raise NotFoundError(msg, "Choose another quantization or model: `homing models`.")
    chosen = min(fits, key=lambda file: (len(file.name), file.name))
    if not 0 < chosen.size <= _MAX_SIZE or not _SHA256.fullmatch(chosen.sha256):
        msg = f"The hub gives no usable size and SHA-256 for {clean_label(chosen.name)} in {repo}"
        raise InvalidDataError(msg, "Fetch the file by hand and give its path instead.")
    return chosen


class HubSource:
    """Fetches `HubFile` origins.

    Args:
        endpoint: the hub's address; None is the environment's or the public one.
        retry: how hard to try; None is the default.
        timeout: seconds without a byte before a try counts as failed; None is the library's own.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        retry: Retry | None = None,
        timeout: float | None = None,
    ) -> None:
        """Import nothing yet: the library takes a moment, and `--help` shall not wait for it."""
        self._endpoint = endpoint
        self._retry = retry
        self._timeout = timeout

    async def fetch(self, entry: ModelEntry, store: Store, progress: Progress) -> StoredModel:
        """See `Source.fetch`."""
        if not isinstance(entry.origin, HubFile):
            raise TypeError(entry.name)
        repo = entry.origin.repo
        progress(0, 0, f"asking the hub for {entry.name}")
        commit, files = await asyncio.to_thread(self._list, repo)
        chosen = choose_file(files, entry.origin.pattern, repo)
        partial = store.partial(entry)
        have = partial.resume(chosen.sha256)
        if have > chosen.size:
            partial.restart()
            have = 0
        store.require_space(chosen.size - have, f"Fetching {entry.name}")
        await self._download(chosen, (repo, commit), store, entry, progress)
        origin = f"{repo}@{commit[:12]}/{chosen.name}"
        return await store.adopt(entry, partial, origin, progress, sha256=chosen.sha256)

    async def _download(
        self,
        chosen: ListedFile,
        where: tuple[str, str],
        store: Store,
        entry: ModelEntry,
        progress: Progress,
    ) -> None:
        import huggingface_hub  # noqa: PLC0415  # lazily, see __init__

        from homing_inference.catalog.download import (  # noqa: PLC0415  # lazily
            Retry,
            Transfer,
            download,
        )

        repo, commit = where
        token = huggingface_hub.get_token()
        transfer = Transfer(
            url=huggingface_hub.hf_hub_url(
                repo, chosen.name, revision=commit, endpoint=self._endpoint
            ),
            headers={"authorization": f"Bearer {token}"} if token else {},
            size=chosen.size,
            label=f"fetching {entry.name}",
            host=_HOST,
        )
        async with huggingface_hub.get_async_session() as client:
            client.timeout = self._timeout or huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT
            await download(client, transfer, store.partial(entry), progress, self._retry or Retry())

    def _list(self, repo: str) -> tuple[str, list[ListedFile]]:
        """Commit and files of a repository, as the hub says now."""
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        import httpx2  # noqa: PLC0415  # lazily, see __init__
        import huggingface_hub  # noqa: PLC0415  # lazily
        from huggingface_hub import errors  # noqa: PLC0415  # lazily

        try:
            info = huggingface_hub.HfApi(endpoint=self._endpoint, library_name="homing").model_info(
                repo, files_metadata=True, timeout=huggingface_hub.constants.HF_HUB_ETAG_TIMEOUT
            )
        except errors.OfflineModeIsEnabled as error:
            msg = f"{_HOST} is switched off by HF_HUB_OFFLINE"
            raise UnavailableError(msg, "Unset it to fetch the model.") from error
        except errors.GatedRepoError as error:
            msg = f"{_HOST} gives {repo} only to those who accepted its licence"
            raise RefusedError(msg, "Accept it on the model's page and set HF_TOKEN.") from error
        except errors.RepositoryNotFoundError as error:
            msg = f"{_HOST} has no repository {repo}, or shows it only with a token"
            raise NotFoundError(msg, "If it is private, set HF_TOKEN.") from error
        except (httpx2.HTTPError, OSError) as error:
            msg = f"{_HOST} cannot be reached"
            raise UnavailableError(msg, "Check the connection.") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            msg = f"{_HOST} gave a listing of {repo} that cannot be read"
            raise InvalidDataError(msg, "Check HF_ENDPOINT, and try again later.") from error
        commit = info.sha or ""
        if not _COMMIT.fullmatch(commit):
            msg = f"{_HOST} gave a listing of {repo} without a commit"
            raise InvalidDataError(msg, "Check HF_ENDPOINT, and try again later.")
        return commit, [
            ListedFile(
                sibling.rfilename,
                (sibling.lfs.size if sibling.lfs else sibling.size) or 0,
                sibling.lfs.sha256 if sibling.lfs else "",
            )
            for sibling in info.siblings or ()
        ]

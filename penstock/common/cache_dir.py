"""Where penstock keeps what it can make again: one folder per user, and never needed."""

from __future__ import annotations

import os
import pathlib
import tempfile


def cache_dir() -> pathlib.Path | None:
    """A folder that only this user can write to, or None where there is none to be had.

    `PENSTOCK_CACHE_DIR` names it; otherwise it is `penstock` in the user's cache folder.
    """
    named = os.environ.get("PENSTOCK_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = pathlib.Path(named) if named else pathlib.Path(base) / "penstock"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError:
        return None
    is_ours = found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if is_ours and os.access(folder, os.W_OK) else None


def write_whole(path: pathlib.Path, text: str) -> None:
    """Writes a file that other processes see whole or not at all; a full disk is no failure."""
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False) as file:
            file.write(text)
        os.replace(file.name, path)
    except OSError:
        return


def keep_newest(folder: pathlib.Path, pattern: str, count: int) -> None:
    """Removes all but the last used files of a pattern."""
    try:
        files = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in files[count:]:
            path.unlink(missing_ok=True)
    except OSError:  # another process tidies up, too
        return

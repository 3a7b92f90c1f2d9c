"""Whole files or none: a result is written beside its target and renamed over it.

On Linux the bytes go to an unnamed file first, so that a process killed at any instant leaves neither a half-written
plan nor debris; elsewhere a hidden temporary name is used. A target that is no regular file (a pipe, ``/dev/null``)
is written to directly.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from planner.errors import Diagnostic, InputError, PlannerError

_NAME_BYTES = 100


def safe_name(name: str) -> str:
    """A scenario's name as one harmless folder name; a name that had to lose characters gets a short hash instead.

    >>> safe_name("chat"), safe_name("My chat 2.1"), safe_name("Qwen3 模型")
    ('chat', 'My-chat-2.1', 'Qwen3-模型')
    >>> safe_name("../../etc/passwd"), safe_name("..")
    ('etc-passwd-3754d6', 'scenario-5ec1f7')
    """
    normal = unicodedata.normalize("NFC", name)
    slug = "".join(c if c.isalnum() or c in "-_." else "-" for c in normal).strip("-.")
    while "--" in slug or ".." in slug:
        slug = slug.replace("--", "-").replace("..", ".")
    slug = slug.encode()[:_NAME_BYTES].decode(errors="ignore").strip("-.") or "scenario"
    lossless = slug == normal.replace(" ", "-")
    return slug if lossless else f"{slug}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:6]}"


def report_folder(scenario_name: str, root: Path = Path("reports")) -> Path:
    """Where a scenario's results go: always one folder directly under ``root``, whatever the name says."""
    return root / safe_name(scenario_name)


def check_writable(target: Path, make_folder: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Find out before a long run, not after it, that ``target`` cannot be written; changes nothing.

    Raises:
        PlannerError: The folder is missing (and is not to be made) or not writable, the target is a folder, or it is
            one of the ``inputs``, under whatever name.
    """
    _keep(inputs, target)
    try:
        if target.is_dir():
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not target.is_file():
            return
        folder = target.resolve().parent
        while make_folder and not folder.exists() and folder != folder.parent:
            folder = folder.parent
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise cannot_write(str(target), error) from error


def _keep(inputs: Iterable[Path], target: Path) -> None:
    """Never write over what is read: neither by its name nor through a link."""
    for source in inputs:
        try:
            same = target.is_file() and os.path.samefile(source, target)
        except (OSError, ValueError):
            continue  # whoever reads it says why it cannot be read
        if same:
            alias = "" if str(source) == str(target) else f", the same file as {source}"
            fault = f"{target} is an input of this command{alias}, and would be overwritten"
            raise InputError(Diagnostic("overwrites-input", fault, hint="give the output another name"))


def write_text(target: Path, text: str, make_folder: bool = False) -> None:
    """Replace ``target`` by ``text`` in one step; the previous file stays whole until the new one is on disk.

    Raises:
        PlannerError: It cannot be written (disk full, no permission, a folder in the way, ...).
    """
    payload = text.encode("utf-8", "backslashreplace")
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with open(target, "wb") as stream:
                stream.write(payload)
            return
        real = target.resolve()
        if make_folder:
            real.parent.mkdir(parents=True, exist_ok=True)
        _replace(real, payload)
    except OSError as error:
        raise cannot_write(str(target), error) from error


def _replace(target: Path, payload: bytes) -> None:
    folder = os.open(target.parent, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    hidden = f".{target.name[:80]}.{os.getpid()}.tmp"
    try:
        descriptor, named = _open_new(folder, target.parent, hidden)
        try:
            _write_all(descriptor, payload)
            os.fsync(descriptor)
            if not named:
                os.link(f"/proc/self/fd/{descriptor}", hidden, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(descriptor)
        os.replace(hidden, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except BaseException:
        _remove_quietly(hidden, folder)
        raise
    finally:
        os.close(folder)


def _open_new(folder: int, path: Path, hidden: str) -> tuple[int, bool]:
    """An unnamed file in the folder where the system has them, else one with a hidden name; and whether it is named."""
    _remove_quietly(hidden, folder)
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        try:
            return os.open(path, os.O_TMPFILE | os.O_WRONLY, 0o666), False
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                raise
    return os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666, dir_fd=folder), True


def _write_all(descriptor: int, payload: bytes) -> None:
    view = memoryview(payload)
    while view:
        view = view[os.write(descriptor, view) :]


def _remove_quietly(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass  # it was never made, or it has been renamed already


_REASONS = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EIO: "the disk reports an error",
    errno.EBADF: "it is closed",
    errno.EPIPE: "its reader closed it before the end",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.EISDIR: "it is a folder",
    errno.ENOENT: "its folder does not exist",
    errno.EROFS: "the file system is read-only",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EEXIST: "a part of the path is a file, not a folder",
    errno.ENAMETOOLONG: "the path is too long",
}
_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EPIPE, errno.EBADF)  # the rest is a path badly chosen


def cannot_write(what: str, error: OSError) -> PlannerError:
    """One clear sentence for an operating-system error met while writing ``what``."""
    reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
    kind = PlannerError if error.errno in _THE_MACHINE else InputError
    code = "closed-pipe" if error.errno == errno.EPIPE else "cannot-write"
    return kind(Diagnostic(code, f"cannot write {what}: {reason}"))


def to_stdout(text: str) -> None:
    """Print the answer; characters that the terminal's encoding lacks are replaced by ASCII.

    Raises:
        PlannerError: stdout is closed or its disk is full.
    """
    if sys.stdout is None:
        raise cannot_write("to stdout", OSError(errno.EBADF, os.strerror(errno.EBADF)))
    try:
        sys.stdout.write(_encodable(text, sys.stdout.encoding))
    except OSError as error:
        _abandon_stdout()
        raise cannot_write("to stdout", error) from error
    flush_stdout()


def flush_stdout() -> None:
    """Hand over what is still buffered.

    Raises:
        PlannerError: stdout is closed or its disk is full.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        _abandon_stdout()
        raise cannot_write("to stdout", error) from error


def to_stderr(text: str, end: str = "\n") -> None:
    """Tell the user something beside the answer; a closed stderr is nobody's problem."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(_encodable(text, sys.stderr.encoding) + end)
        sys.stderr.flush()
    except OSError:
        pass  # nobody listens


def _encodable(text: str, encoding: str | None) -> str:
    from planner.report.format import ascii_only

    try:
        text.encode(encoding or "ascii")
    except UnicodeEncodeError:
        return ascii_only(text)
    return text


def _abandon_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not fail a second time."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass  # stdout has no descriptor (captured, or closed before the start)

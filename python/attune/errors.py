# SPDX-License-Identifier: MIT
"""One exception class for each error code of Attune."""

from __future__ import annotations


class Error(Exception):
    """Base class of errors. The message is one sentence that tells the user what to do; `code` is the code of JSON output."""

    code: str = "internal"


class InvalidInputError(Error, ValueError):
    """The caller's mistake: an invalid problem, file or flag."""

    code = "invalid_input"


class NotFoundError(Error, LookupError):
    """Something named by the caller does not exist."""

    code = "not_found"


class UnavailableError(Error):
    """No library on this machine supports the operation, or memory is exhausted."""

    code = "unavailable"


class IoError(Error, OSError):
    """A file or folder cannot be read or written."""

    code = "io"


class DatabaseError(Error):
    """The journal reported an error."""

    code = "database"


class DeviceError(Error):
    """The device or a library reported an error."""

    code = "device"


class TimedOutError(Error, TimeoutError):
    """An operation exceeded its time limit."""

    code = "timeout"


class InternalError(Error):
    """A bug in Attune."""

    code = "internal"


CLASSES: dict[str, type[Error]] = {
    kind.code: kind
    for kind in (
        InvalidInputError,
        NotFoundError,
        UnavailableError,
        IoError,
        DatabaseError,
        DeviceError,
        TimedOutError,
        InternalError,
    )
}

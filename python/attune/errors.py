# SPDX-License-Identifier: MIT
"""One exception class for each error code of Attune."""

from __future__ import annotations


class Error(Exception):
    """What Attune raises. The message is one sentence that says what to do; `code` is its kind, as in JSON output."""

    code: str = "internal"


class InvalidInputError(Error, ValueError):
    """The caller's mistake: a problem, a file or a flag that means nothing."""

    code = "invalid_input"


class NotFoundError(Error, LookupError):
    """Something that was named is not there."""

    code = "not_found"


class UnavailableError(Error):
    """No library here does it, or there is no memory."""

    code = "unavailable"


class IoError(Error, OSError):
    """A file or folder cannot be read or written."""

    code = "io"


class DatabaseError(Error):
    """The journal refused."""

    code = "database"


class DeviceError(Error):
    """The device, or the library that was to run, refused."""

    code = "device"


class TimedOutError(Error, TimeoutError):
    """It took longer than it may."""

    code = "timeout"


class InternalError(Error):
    """A bug of Attune's."""

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

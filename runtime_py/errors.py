"""The exception tree of the runtime.

    SessionError        .code
    ├── BundleError     RT1xx: the bundle is damaged, incomplete, or of another format
    ├── InputError      RT2xx: an argument does not fit any entry of the program
    └── DeviceError     RT3xx: no usable device, a module is rejected, or an execution fails
        ├── HostOverflowError   RT307 (also an OverflowError): a host integer leaves 64 bits
        └── FuelError           RT308: a forced run made more decisions than allowed

An exception that the user's own program raises is none of these: it comes out as the built-in type itself.

    RT101 no manifest             RT201 structure of the arguments   RT301 no target suits this machine
    RT102 malformed manifest      RT202 dtype or kind of a leaf      RT302 the device cannot be opened
    RT103 unknown format version  RT203 rank or extent               RT303 a module is rejected
    RT104 file missing or changed RT204 constant never seen          RT304 an execution failed
    RT105 path leaves the bundle  RT205 argument cannot be updated   RT305 used after fork
    RT106 no host program         RT206 value does not convert       RT306 session is closed
    RT107 no function to call                                        RT309 a function gave something else
                                                                     RT310 a function uses its session
"""

from __future__ import annotations


class SessionError(Exception):
    """Base of everything that loading or running a bundle raises on purpose."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(f"[{code}] {message}" + (f"\n  hint: {hint}" if hint else ""))
        self.code = code
        self.message = message
        self.hint = hint


class BundleError(SessionError):
    """The bundle on disk cannot be used; nothing was executed."""


class InputError(SessionError):
    """The arguments fit no entry; nothing was executed."""


class DeviceError(SessionError):
    """The device, a compiled module, or the session itself cannot go on."""


class HostOverflowError(DeviceError, OverflowError):
    """An integer of the host program left the range of 64 bits."""

    def __init__(self, message: str) -> None:
        super().__init__("RT307", message, "host integers have 64 bits in every host language")


class FuelError(DeviceError):
    """A forced run made more decisions than its fuel allowed."""

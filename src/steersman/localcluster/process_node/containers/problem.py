"""What keeps a container from being started, and how a kubelet calls it."""

from steersman.errors import SteersmanError


class StartError(SteersmanError):
    """A container cannot be started now; the message has the reason and what to do."""

    #: Reason in the container's state.
    reason = "CreateContainerError"
    #: Reason of the event that reports it.
    event = "Failed"


class ImageError(StartError):
    """The image is not in the map of images."""

    reason = "ErrImagePull"


class ProgramError(StartError):
    """An image has no such program, or it cannot be executed."""

    reason = "RunContainerError"


class SourceError(StartError):
    """A config map, secret or key is missing, or a variable needs something that this node does not support."""

    reason = "CreateContainerConfigError"


class MountError(StartError):
    """A volume cannot be provided."""

    #: The container is still being created.
    reason = ""
    event = "FailedMount"

"""What keeps a container from being started, and how a kubelet calls it."""

from steersman.errors import SteersmanError


class StartError(SteersmanError):
    """A container cannot be started now; the message says why and what to do."""

    #: What its state says.
    reason = "CreateContainerError"
    #: What the event says that tells people of it.
    event = "Failed"


class ImageError(StartError):
    """No program stands for an image."""

    reason = "ErrImagePull"


class ProgramError(StartError):
    """An image has no such program, or it cannot be executed."""

    reason = "RunContainerError"


class SourceError(StartError):
    """A config map, secret or key is missing, or a variable asks for what this node cannot give."""

    reason = "CreateContainerConfigError"


class MountError(StartError):
    """A volume cannot be provided."""

    #: The container is still being created.
    reason = ""
    event = "FailedMount"

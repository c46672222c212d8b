"""What can go wrong and be said in one sentence; everything else keeps its traceback."""


class InputError(ValueError):
    """Something that a person gave is not what it must be: an option, a file, data, an encoder."""


class ConfigError(InputError):
    """A file of settings is not what it should be; the message lists everything that is wrong."""


class WriteError(OSError):
    """An output that cannot be written."""


class CollapseError(ValueError):
    """The embeddings became equal or not finite, and training on cannot mend that."""


class OtherProcessError(RuntimeError):
    """Another process of the same torchrun has stopped and said why."""


def first_line(error: BaseException) -> str:
    """What a library says, for a sentence of ours in brackets; its class if it says nothing."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".:")[:200]

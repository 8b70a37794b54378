"""A copy of the checkpoint from before a finish, with which the finish can be undone."""

import logging
from pathlib import Path

from core.errors import UserError
from core.io import tensor_file
from core.io.files import reason, write_atomically
from core.session import checkpoint

log = logging.getLogger(__name__)


class BeforeFinish:
    """Copy of the checkpoint that is restored when a finish is undone, in the folder of the checkpoints.

    It is not listed, exported or deleted with the checkpoints.
    """

    def __init__(self, folder: Path) -> None:
        """folder: folder of the checkpoints"""
        self._folder, self._path = folder, folder / "before-finish.safetensors"

    @property
    def kept(self) -> bool:
        return self._path.is_file()

    def keep(self, number: int) -> bool:
        """Copy the checkpoint with this number. Returns whether that succeeded; a failure is only logged."""
        try:
            write_atomically(self._path, checkpoint.path_of(self._folder, number).read_bytes())
        except (UserError, OSError) as error:
            log.warning("The checkpoint from before the finish is not kept: %s", error)
            return False
        return True

    def forget(self) -> None:
        """Delete the copy, if there is one; a failure is only logged."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("The checkpoint from before the finish can't be deleted (%s).", reason(error))

    def restore(self) -> None:
        """Make the copy the newest checkpoint, and delete it.

        Raises UserError if it can't be read, or if the new checkpoint can't be written; the checkpoints are then unchanged.
        """
        try:
            _, states = checkpoint.load(self._path)
        except tensor_file.DAMAGE as error:
            text = f"The checkpoint from before the finish can't be read ({reason(error)}): the finish can't be undone."
            raise UserError(text) from error
        newest = max((int(path.stem) for path in checkpoint.checkpoint_files(self._folder)), default=0)
        checkpoint.save_checkpoint(self._folder, newest + 1, states)
        self.forget()

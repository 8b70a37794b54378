"""The way back from a finish: a copy of the checkpoint from before it."""

import logging
from pathlib import Path

from core.errors import UserError
from core.io import tensor_file
from core.io.files import reason, write_atomically
from core.session import checkpoint

log = logging.getLogger(__name__)


class BeforeFinish:
    """Copy of the checkpoint to which an undone finish returns, in the folder of the checkpoints.

    Checkpoints are listed, exported and thinned out without it.
    """

    def __init__(self, folder: Path) -> None:
        """folder: of the checkpoints"""
        self._folder, self._path = folder, folder / "before-finish.safetensors"

    @property
    def kept(self) -> bool:
        return self._path.is_file()

    def keep(self, number: int) -> bool:
        """Copy the checkpoint with this number, and return whether that succeeded; a failure is only logged."""
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

        Raises UserError if it can't be read, or the newest can't be written; all checkpoints are then as they were.
        """
        try:
            _, states = checkpoint.load(self._path)
        except tensor_file.DAMAGE as error:
            text = f"The checkpoint from before the finish can't be read ({reason(error)}): the finish can't be undone."
            raise UserError(text) from error
        newest = max((int(path.stem) for path in checkpoint.checkpoint_files(self._folder)), default=0)
        checkpoint.save_checkpoint(self._folder, newest + 1, states)
        self.forget()

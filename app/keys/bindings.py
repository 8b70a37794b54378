"""The person's own keys, kept in the settings."""

from __future__ import annotations

import json
import logging

from app import settings
from app.keys.commands import KeyMap
from core.errors import UserError

_NAME = "keys/changes"
log = logging.getLogger(__name__)


def kept_keys() -> KeyMap:
    """Those that were kept last; the usual ones where there are none, or they can't be read."""
    try:
        changes = json.loads(settings.text(_NAME, "{}"))
        return KeyMap.changed({name: tuple(map(str, keys)) for name, keys in changes.items()})
    except (ValueError, TypeError, AttributeError, UserError) as error:
        log.warning("The keys that were chosen can't be read (%s): the usual ones are used.", error)
        return KeyMap()


def keep_keys(keys: KeyMap) -> None:
    settings.keep(_NAME, json.dumps(keys.changes()))

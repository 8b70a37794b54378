"""The policy acting: live demonstrations, replays of earlier snapshots, and films."""

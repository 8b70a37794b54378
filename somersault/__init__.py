"""The `somersault` command: the window and the engine behind one name."""

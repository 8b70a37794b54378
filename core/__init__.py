"""The engine of Somersault: everything but the window. Imports no Qt."""

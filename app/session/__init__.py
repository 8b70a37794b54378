"""The controller of one session, and how sessions are made, listed and summarised."""

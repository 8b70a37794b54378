"""The controller of one session, and how sessions are created, listed, recovered and summarized. No widgets."""

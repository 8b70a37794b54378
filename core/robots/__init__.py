"""Bodies of robots in MuJoCo: models, kinematics, signals, starts, and the import of MJCF files."""

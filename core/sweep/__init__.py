"""Many runs as one plan: on this machine, on a Ray cluster or on Slurm, with tables and charts of their results."""

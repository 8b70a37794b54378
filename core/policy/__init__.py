"""Policy networks and the optimizers that improve them: PPO, TRPO and A2C on new steps alone, SAC on old ones too."""

"""Actor-critics and the on-policy optimizers that improve them: PPO, TRPO and A2C."""

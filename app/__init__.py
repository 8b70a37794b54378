"""The desktop program. Never imports torch, mujoco, gymnasium or cv2, which run in child processes."""

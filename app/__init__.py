"""The window. Nothing here may import torch, mujoco, gymnasium or cv2: those live in child processes."""

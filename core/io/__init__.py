"""Files and byte formats: atomic writes, verified tensors, packed segments and pictures, video, log."""

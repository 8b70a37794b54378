"""Policy and predicted reward as ONNX files, which other programs can run without this one."""

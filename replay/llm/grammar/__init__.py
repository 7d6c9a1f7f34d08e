"""JSON Schema to a grammar that llama.cpp's sampler follows, fail closed, and the check of what came out."""

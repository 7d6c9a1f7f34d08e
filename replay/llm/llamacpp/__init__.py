"""The local GGUF model on stock llama.cpp: equal bits for equal requests, warm or cold, alone or not."""

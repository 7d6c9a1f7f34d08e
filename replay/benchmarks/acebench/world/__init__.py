"""The agent's sandbox: phone, food platform and travel desk as one pure world, in English and Chinese."""

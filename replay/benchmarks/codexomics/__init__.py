"""CodeXomics: native function calling of a genome browser's assistant, over several rounds."""

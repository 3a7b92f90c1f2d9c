"""A second implementation of the model, written from its equations alone and sharing no code with the product."""

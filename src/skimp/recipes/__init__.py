"""The names that the literature gives to choices of kernel, approximation, loss and solver."""

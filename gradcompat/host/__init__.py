"""The machine: its devices and drivers, and what packages and names say of them."""

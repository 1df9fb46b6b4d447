"""Learn about the many without learning about the one."""

"""Commented case files, for `tailrace new`."""

"""The command line. Functions are local unless they say collective, here and in the packages below."""

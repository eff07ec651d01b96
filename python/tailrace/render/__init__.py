"""Draw pictures of results. Functions are local unless they say collective."""

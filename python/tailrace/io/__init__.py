"""Series: opened, written and read by whichever engine; time series; coupling."""

"""A viewer for Catalyst Live, run by pvpython: it gets the surface of three steps of a simulation, and goes away."""

import sys
import time

from paraview import live, simple  # noqa: F401 # simple connects to the built-in server

link = live.ConnectToCatalyst("localhost", int(sys.argv[1]))
surface, seen, end = None, 0, time.monotonic() + 90
while seen < 3 and time.monotonic() < end:
    live.ProcessServerNotifications()
    proxies = link.GetInsituProxyManager()
    names = [proxies.GetProxyName("sources", at) for at in range(proxies.GetNumberOfProxies("sources"))]
    if surface is None and "Contour1" in names:
        surface = live.ExtractCatalystData(link, "Contour1")
    if surface is not None:
        surface.UpdatePipeline()
        if count := surface.GetDataInformation().GetNumberOfPoints():
            print("points", count, flush=True)
            seen += 1
    time.sleep(0.1)

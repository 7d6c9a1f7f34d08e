"""Recorded HTTP exchanges in your own tests and programs, without a server.

    from replay.testing.recording import open_recording

    with open_recording("weather.replay") as recording:
        client = httpx.Client(transport=recording.transport())

Nothing here touches the network but in record mode, which is asked for by name. With pytest, the plugin that
comes along gives the same through the marker and the fixture `replay`.
"""

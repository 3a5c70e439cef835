"""The camera, in a real browser."""

import numpy as np
from desk import IN_A_BROWSER

pytestmark = IN_A_BROWSER


def test_the_camera_follows_when_it_is_told_to(desk):
    desk.open("stand")
    desk.play()
    desk.wait(0.2)
    eye, at = desk.view()
    desk.page.keyboard.press("c")
    # a push that makes the figure fall; slowly, for a page that is late would push for seconds
    desk("studio.state.send({kind: 'speed', factor: 0.25})")
    desk.until("studio.state.status.speed === 0.25")
    desk.page.keyboard.down("Shift")
    x, y = desk.spot("thorax", push=True)
    desk.press(x, y)
    desk.move(x + 90, y)
    desk.wait(0.4)
    # while one drags, the view stands still
    assert np.allclose(desk.view()[1], at, atol=0.02)
    # time stands while the hand lets go, so that it is known where the following begins
    desk("studio.state.send({kind: 'pause'})")
    desk.until("!studio.state.status.playing")
    desk.page.keyboard.up("Shift")
    desk.release()
    desk.page.wait_for_timeout(500)
    start = desk.handle()
    desk("studio.state.send({kind: 'speed', factor: 1})")
    desk.play()
    desk.until("from => Math.hypot(...studio.state.status.handles[0].place.map((v, k) => v - from[k])) > 0.3", start.tolist())
    desk.pause()
    gone = desk.handle() - start
    # it comes after, gently
    desk.until(
        "([at, gone]) => Math.hypot(...studio.view.at.map((v, k) => v - at[k] - gone[k])) < 0.05", [at.tolist(), gone.tolist()]
    )
    eye_now, at_now = desk.view()
    # the camera goes along, it does not turn
    assert np.allclose(eye_now - eye, at_now - at, atol=0.02)
    desk.page.keyboard.press("c")


def test_what_was_pressed_last_is_fitted_into_view(desk):
    desk.open("lift")
    desk.page.keyboard.press("f")
    whole_eye, whole_at = desk.view()
    x, y = desk.spot("box")
    desk.press(x, y)
    desk.release()
    desk.page.keyboard.press("f")
    eye, at = desk.view()
    assert np.linalg.norm(at - desk.body("box")) < 0.1
    assert np.linalg.norm(eye - at) < 0.6 * np.linalg.norm(whole_eye - whole_at)
    # the direction is kept
    ways = [(e - a) / np.linalg.norm(e - a) for e, a in ((eye, at), (whole_eye, whole_at))]
    assert np.allclose(*ways, atol=0.02)

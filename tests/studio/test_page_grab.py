"""Hands on the figure, in a real browser: what is pressed and dragged, and what it does to the physics."""

import math

import numpy as np
from desk import IN_A_BROWSER, Desk, sit_down

pytestmark = IN_A_BROWSER


def drag_the_hand(desk: Desk) -> np.ndarray:
    """As the lift begins, up and out; where it was."""
    desk.open("lift")
    desk.play()
    desk.wait(0.2)
    before = desk.body("hand_l")
    x, y = desk.spot("hand_l")
    desk.press(x, y)
    desk.move(x + 25, y - 45)
    return before


def test_a_dragged_hand_follows(desk):
    before = drag_the_hand(desk)
    desk.until("studio.state.input?.held")
    assert desk("studio.state.input.mode") == "task"
    desk.wait(2.5)
    assert desk.gap() < 0.03
    assert np.linalg.norm(desk.body("hand_l") - before) > 0.05
    desk.release()


def test_without_its_drag_handler_nothing_follows(browser, server):
    with sit_down(browser, f"{server.address}&drag=off") as desk:
        drag_the_hand(desk)
        desk.wait(0.5)
        assert desk("studio.sent") == 0
        assert desk("studio.state.input?.held") is not True
        desk.page.mouse.up()


def test_a_push_on_the_chest_has_an_arrow_and_an_effect(desk):
    desk.open("stand")
    desk.play()
    desk.wait(0.3)
    before = desk.body("thorax")
    desk.page.keyboard.down("Shift")
    x, y = desk.spot("thorax", push=True)
    desk.press(x, y)
    desk.move(x + 40, y)
    desk.until("studio.arrow.visible && studio.arrow.newtons > 20")
    assert desk("studio.state.input.mode") == "push"
    force = np.array(desk("studio.state.input.force"))
    label = desk.page.inner_text('[data-testid="force-label"]')
    assert label.split()[1] == "N"
    assert math.isclose(float(label.split()[0]), np.linalg.norm(force), rel_tol=0.5)
    desk.wait(0.4)
    moved = desk.body("thorax") - before
    desk.page.keyboard.up("Shift")
    desk.release()
    assert moved @ force / np.linalg.norm(force) > 0.005
    desk.until("!studio.arrow.visible")


def test_a_chain_is_pulled_by_a_spring_with_newtons(desk):
    desk.open("chain")
    desk.play()
    desk.wait(0.2)
    # a swinging link is caught while time stands
    desk.pause()
    end = desk("studio.state.model.bodies.filter(b => b.part_of === 'prop').at(-1).name")
    x, y = desk.spot(end)
    before = desk.body(end)
    desk.press(x, y)
    desk.move(x + 30, y - 20)
    desk.page.keyboard.press("Space")
    desk.until("studio.arrow.visible && studio.arrow.newtons > 1")
    assert desk("studio.state.input.mode") == "spring"
    desk.wait(0.6)
    assert np.linalg.norm(desk.body(end) - before) > 0.03
    desk.release()


def test_the_pendulums_goal_can_be_dragged(desk):
    desk.open("pendulum")
    desk.play()
    desk.until("studio.state.status.markers.some(m => m.active)")
    marker = desk("studio.state.status.markers.find(m => m.active)")
    place = desk("p => studio.project(p)", marker["place"])
    desk.press(place["x"], place["y"])
    desk.move(place["x"] + 10, place["y"] - 30)
    desk.until("studio.state.input?.held && studio.state.input.mode === 'goal'")
    desk.wait(1.0)
    goal = np.array(desk("studio.state.input.goal"))
    assert np.linalg.norm(goal - marker["place"]) > 0.05
    desk.release()
    # it stays where it was put, and the hand goes there
    now = desk("name => studio.state.status.markers.find(m => m.name === name).place", marker["name"])
    assert np.linalg.norm(goal - now) < 0.01
    desk.until("([body, goal]) => Math.hypot(...studio.body(body).map((p, k) => p - goal[k])) < 0.15", [marker["body"], now])


def test_a_finger_on_a_tablet_grabs_too(browser, server):
    with sit_down(browser, server.address, has_touch=True) as desk:
        desk.open("stand")
        desk.play()
        desk.wait(0.1)
        x, y = desk.spot("hand_r")
        touch = desk.page.context.new_cdp_session(desk.page)
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for k in range(1, 6):
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x + 4 * k, "y": y - 4 * k}]})
        desk.until("studio.state.input?.held && studio.sent > 0")
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        desk.until("!studio.state.input.held")

"""Hands on the figure, in a real browser: what is pressed and dragged, and what it does to the physics."""

import math

import mujoco
import numpy as np
from desk import IN_A_BROWSER, PATIENCE, Desk, sit_down
from scipy.spatial.transform import Rotation

from manikin.recording import load_recording

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
    # the script draws the goal about: it is caught while time stands
    desk.pause()
    marker = desk("studio.state.status.markers.find(m => m.active)")
    x, y = desk.place(marker["place"])
    desk.press(x, y)
    desk.move(x + 10, y - 30)
    desk.page.keyboard.press("Space")
    desk.until("studio.state.status.playing && studio.state.input?.held && studio.state.input.mode === 'goal'")
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


def test_the_centre_of_mass_is_a_handle(desk):
    desk.open("stand")
    desk.play()
    desk.wait(0.2)
    before = desk.handle()
    x, y = desk.place(before)
    desk.press(x, y)
    desk.move(x + 14, y + 6)
    desk.until("studio.state.input?.held && studio.state.input.mode === 'com'")
    wanted = np.array(desk("studio.state.input.goal")) - before
    assert np.linalg.norm(wanted) > 0.03
    desk.wait(1.0)
    moved = desk.handle() - before
    desk.release()
    # within its strength, and without falling, the body leans that way
    assert moved[:2] @ wanted[:2] / np.linalg.norm(wanted[:2]) > 0.015


def test_the_assist_is_orange_helps_and_is_recorded(desk, tmp_path):
    desk.open("stand")
    assert not desk.page.is_visible('[data-testid="assist-label"]')
    desk.page.fill('.assist input[type="number"]', "200")
    desk.page.keyboard.press("Enter")
    desk("document.activeElement.blur()")
    desk.until("studio.state.status.assist === 200")
    desk.play()
    desk.wait(0.5)
    desk.pause()
    desk.page.wait_for_selector('[data-testid="assist-label"]:not([hidden])')
    colour = "c => { const p = document.createElement('p'); p.style.color = c; return p.style.color; }"
    orange = desk(colour, desk("getComputedStyle(document.documentElement).getPropertyValue('--force')"))
    for part in ('[data-testid="assist-label"]', ".assist .name"):
        assert desk("s => getComputedStyle(document.querySelector(s)).color", part) == orange
    assert "N s so far" in desk.page.inner_text(".assist")
    impulse = desk.status("assist_impulse")
    desk.click("tab-takes")
    row = f'[data-take="{desk.status("take")}"]'
    desk.page.click(f'{row} [data-testid="take-export"]')
    with desk.page.expect_download(timeout=PATIENCE) as download:
        desk.page.click(f'{row} [data-testid="export-npz"]')
    download.value.save_as(tmp_path / "take.npz")
    recording = load_recording(tmp_path / "take.npz")
    pelvis = mujoco.MjModel.from_xml_string(recording.mjcf).body("pelvis").id
    forces = recording.xfrc[recording.xfrc[:, 1] == pelvis, 2:5]
    strength = np.linalg.norm(forces, axis=1)
    assert 0 < strength.max() <= 200 + 1e-9
    timestep = recording.meta["timestep"]
    assert math.isclose(strength.sum() * timestep, impulse, rel_tol=0.05)


def turned(desk: Desk, body: str, first: np.ndarray) -> float:
    """How far a body has turned about the line of sight since `first` [rad], as Q counts it."""
    q = Rotation.from_quat(desk.quat(body)) * Rotation.from_quat(first).inv()
    eye, at = desk.view()
    return float(q.as_rotvec() @ (at - eye) / np.linalg.norm(at - eye))


def test_keys_turn_what_is_held(desk):
    desk.open("stand")
    desk.play()
    desk.wait(0.2)
    first = desk.quat("hand_r")
    x, y = desk.spot("hand_r")
    desk.press(x, y)
    desk.move(x - 10, y - 25)
    desk.until("studio.state.input?.held")
    for _ in range(6):
        desk.page.keyboard.press("q")
    desk.wait(1.2)
    clockwise = turned(desk, "hand_r", first)
    for _ in range(12):
        desk.page.keyboard.press("e")
    desk.wait(1.2)
    back = turned(desk, "hand_r", first)
    desk.release()
    # six degrees a press: 36 one way, then as many the other way
    assert abs(clockwise - math.radians(36)) < 0.15
    assert abs(back + math.radians(36)) < 0.15


def test_the_wheel_moves_what_is_held_in_depth_and_not_the_camera(desk):
    desk.open("stand")
    desk.play()
    desk.wait(0.2)
    x, y = desk.spot("hand_r")
    desk.press(x, y)
    desk.move(x + 2, y - 20)
    desk.until("studio.state.input?.held")
    eye, at = desk.view()
    away = (at - eye) / np.linalg.norm(at - eye)
    desk.wait(0.1)
    before = np.array(desk("studio.state.input.goal"))
    for _ in range(5):
        desk.page.mouse.wheel(0, 100)
    desk.until(
        "([goal, d]) => studio.state.input.goal.reduce((s, g, k) => s + (g - goal[k]) * d[k], 0) < -0.1",
        [before.tolist(), away.tolist()],
    )
    assert np.allclose(desk.view(), (eye, at))
    moved = np.array(desk("studio.state.input.goal")) - before
    # towards the eye, and on the screen it stays under the pointer
    assert np.linalg.norm(moved - (moved @ away) * away) < 0.25 * np.linalg.norm(moved)
    desk.release()
    for _ in range(3):
        desk.page.mouse.wheel(0, 100)
    desk.until("eye => Math.hypot(...studio.view.from.map((v, k) => v - eye[k])) > 0.1", eye.tolist())

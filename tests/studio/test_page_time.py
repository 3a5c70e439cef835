"""Time, knobs and futures on the page, in a real browser."""

import time

import numpy as np
from desk import IN_A_BROWSER, Desk
from scipy.interpolate import CubicSpline

from manikin.scenes.scene import load_scene

pytestmark = IN_A_BROWSER


def time_to_top(desk: Desk, mass: float) -> float:
    """Seconds from taking hold until the box is up."""
    desk.open("lift")
    desk.page.fill('.knob input[type="number"][aria-label="Mass of the box"]', str(mass))
    desk.page.keyboard.press("Enter")
    desk.until("mass => studio.state.knobs.find(k => k.path === 'props.box.mass').value === mass", mass)
    desk("document.activeElement.blur()")
    desk.play()
    desk.until("studio.state.status.step === 'lift'")
    began = desk.status("time")
    desk.until("['top', 'lower', 'give_up'].includes(studio.state.status.step)")
    assert desk.status("step") != "give_up"
    return float(desk.status("time")) - began


def test_a_heavier_box_is_slower_and_undo_turns_back(desk):
    light = time_to_top(desk, 5)
    heavy = time_to_top(desk, 80)
    assert heavy > light + 0.2
    desk.pause()
    desk.click("undo")
    desk.until("studio.state.knobs.find(k => k.path === 'props.box.mass').value === 8")


def test_scrubbing_back_and_trying_again_from_there(desk):
    desk.open("lift")
    desk.play()
    desk.wait(1.5)
    desk.pause()
    take, length = desk.status("take"), desk.status("length")
    desk.page.keyboard.press("l")
    track = desk.page.locator('[data-testid="timeline"]').bounding_box()
    seconds = max(length, desk("studio.state.model.seconds"))
    desk.page.mouse.move(track["x"] + track["width"] * length / seconds, track["y"] + 18)
    desk.page.mouse.down()
    desk.page.mouse.move(track["x"] + track["width"] * 0.5 / seconds, track["y"] + 18, steps=5)
    desk.page.mouse.up()
    desk.until("studio.state.status.seeking && Math.abs(studio.state.status.time - 0.5) < 0.05")
    desk.until("Math.abs(studio.state.frame.time - studio.state.status.time) < 0.02")
    there = desk.body("hand_r")
    desk.click("branch")
    desk.until("take => studio.ready && studio.state.status.take !== take && !studio.state.status.seeking", take)
    assert abs(desk.status("time") - 0.5) < 0.05
    assert np.linalg.norm(desk.body("hand_r") - there) < 0.01
    desk.play()
    desk.wait(0.2)
    desk.pause()
    assert desk("studio.state.takes.length") >= 2
    # the first one next to it
    desk.page.click(f'[data-take="{take}"] [data-testid="take-ghost"]')
    desk.until("studio.ghosts.length === 1")
    desk.page.click(f'[data-take="{take}"] [data-testid="take-ghost"]')
    desk.until("studio.ghosts.length === 0")


def test_the_preview_is_what_then_happens(desk):
    desk.open("lift")
    desk("""() => {
        window.seen = []; window.received = [];
        studio.state.onFrame(f => f.kind === 1 && seen.push([f.time, studio.body("hand_l")]));
        studio.state.on("preview_paths", p => received.push(p));
    }""")
    desk.play()
    desk.wait(0.3)
    desk.click("preview")
    x, y = desk.spot("hand_l")
    desk.press(x, y)
    desk.move(x + 15, y - 30)
    # the pointer rests; a preview that was asked for after that holds for what follows
    time.sleep(0.3)
    rest = desk.status("time")
    desk.until("rest => received.some(p => p.choice === -1 && p.start > rest)", rest)
    assert -1 in desk("studio.previews")
    paths = desk("rest => received.find(p => p.choice === -1 && p.start > rest)", rest)
    desk.until("end => studio.state.status.time > end", paths["start"] + 0.6)
    seen = desk("seen")
    desk.release()
    line = next(p for p in paths["paths"] if p["body"] == "hand_l")
    times = paths["start"] + np.array(paths["times"])
    where = CubicSpline(times, np.array(line["points"]))
    then = [(t, p) for t, p in seen if paths["start"] < t < paths["start"] + 0.5]
    assert len(then) >= 3
    worst = max(float(np.linalg.norm(where(t) - np.array(p))) for t, p in then)
    assert worst < 0.001
    desk.click("preview")
    desk.until("!studio.state.status.preview && studio.previews.length === 0")


def hold_a_fan(desk: Desk) -> None:
    """Take the hand of the lift, and look at five futures."""
    desk.open("lift")
    desk.play()
    desk.wait(0.2)
    x, y = desk.spot("hand_l")
    desk.press(x, y)
    desk.move(x + 5, y - 15)
    desk.until("studio.state.input?.held")
    desk.page.keyboard.press("v")
    # what is held stays held while one looks
    desk.page.mouse.up()
    desk.until("[0, 1, 2, 3, 4].every(k => studio.previews.includes(k))")
    # ghosts and labels are where they are drawn: before that a label may come to lie over the place that is clicked
    desk.until("drawn => studio.drawn > drawn + 2", desk("studio.drawn"))
    assert not desk.status("playing")


def test_five_futures_and_one_is_taken(desk):
    hold_a_fan(desk)
    before = desk("studio.state.input.goal")
    desk.click("future-3")
    desk.until("z => studio.state.input.held && studio.state.input.goal[2] > z + 0.1", before[2])
    desk.until("studio.state.status.playing")
    desk.page.keyboard.press("Escape")
    desk.until("!studio.state.input.held")


def test_nothing_stays_behind_on_the_graphics_card(desk):
    def held() -> dict[str, int]:
        hold_a_fan(desk)
        desk.page.keyboard.press("Escape")
        desk.page.keyboard.press("Escape")
        desk.until("studio.previews.length === 0 && !studio.state.input.held")
        return dict(desk("studio.memory"))

    first = held()
    assert held() == first


def test_a_ghost_of_the_fan_is_clicked_and_taken(desk):
    hold_a_fan(desk)
    before = desk("studio.state.input.goal")
    # somewhere on the ghost of the future that goes up, and not on its path
    spot = desk("""() => {
        const box = document.querySelector('canvas').getBoundingClientRect();
        for (let y = box.top + 40; y < box.bottom - 40; y += 8)
          for (let x = box.left + 80; x < box.right - 20; x += 8) {
            const future = studio.future(x, y);
            const label = document.elementFromPoint(x, y).tagName !== 'CANVAS';
            if (future?.choice === 3 && future.by === 'ghost' && !label) return [x, y];
          }
        return null;
    }""")
    assert spot is not None, "no ghost of the third future can be seen"
    # the figure itself is in front of its ghosts: there is nothing to take on a foot that stands
    assert desk("p => studio.future(p.x, p.y)", desk("studio.project(studio.body('foot_l'))")) is None
    desk.page.mouse.click(*spot)
    desk.until("z => studio.state.input.held && studio.state.input.goal[2] > z + 0.1", before[2])
    desk.until("studio.state.status.playing && studio.previews.length === 0")
    desk.page.keyboard.press("Escape")
    desk.until("!studio.state.input.held")


def test_looking_back_shows_where_the_goals_were(desk):
    desk.open("pendulum")
    desk.play()
    desk.until("studio.state.status.markers.some(m => m.active)")
    desk.wait(0.3)
    # the script moves this goal too: when and where belong together
    goal = "({ time, markers }) => [time, markers.find(m => m.active)]"
    when, marker = desk(f"({goal})(studio.state.status)")
    name, place = marker["name"], marker["place"]
    x, y = desk.place(place)
    desk.press(x, y)
    desk.move(x + 10, y - 30)
    desk.wait(0.5)
    desk.release()
    desk.pause()
    there = desk("n => studio.state.status.markers.find(m => m.name === n).place", name)
    assert np.linalg.norm(np.subtract(there, place)) > 0.05
    desk.until("n => studio.marks.includes(`goal ${n}`)", name)
    desk("time => studio.state.send({kind: 'seek', time})", when)
    desk.until("n => studio.state.status.seeking && studio.marks.includes(`past ${n}`)", name)
    assert not desk("studio.marks.some(m => m.startsWith('goal') || m.startsWith('com'))")
    assert "where the goals were" in desk.page.inner_text(".hint")
    past = desk("n => studio.mark(`past ${n}`)", name)
    assert np.linalg.norm(np.subtract(past, place)) < 0.02 < np.linalg.norm(np.subtract(past, there))
    # of a take that this page has not seen, it says so
    desk.page.reload()
    desk.until("window.studio && studio.ready && studio.state.status.seeking")
    desk.until("document.querySelector('.hint').textContent.includes('Goals are not recorded')")
    assert not desk("studio.marks.some(m => m.startsWith('past'))")


def test_a_job_that_fails_says_why_on_the_page(desk, server):
    session = server.studio.session
    session.ask(lambda: session.open(load_scene("lift", {"props.box.mass": 150.0, "tasks.hands.frequency": 2.0}))).result(60)
    desk.until("studio.ready && studio.state.model.knobs.some(k => k.path === 'props.box.mass' && k.value === 150)")
    session.ask(lambda: [session._steps(1) for _ in range(6500) if not session.live.run.script.done]).result(120)
    desk.play()
    desk.until("document.querySelector('[data-testid=step]').textContent === 'gave up'")
    assert desk.page.inner_text('[data-testid="outcome"]').startswith("'box' is too heavy; step 'lift' did not lead to 'top'")


def test_the_timeline_has_ticks_and_shows_the_end_of_the_script(desk):
    desk.open("catch")
    ticks = "[...document.querySelectorAll('.track .ticks i')].map(i => [i.title, parseFloat(i.style.left)])"
    desk.play()
    desk.until("studio.state.status.finished")
    desk.pause()
    desk.until(f"({ticks}).length === studio.state.status.ticks.length")
    received, drawn = desk.status("ticks"), desk(ticks)
    assert len(received) >= 2
    seconds = max(desk.status("length"), desk("studio.state.model.seconds"))
    for tick, (title, left) in zip(received, drawn, strict=True):
        assert title.startswith(tick["name"].replace("_", " "))
        assert abs(left - 100 * tick["time"] / seconds) < 0.1
    assert desk.page.inner_text('[data-testid="step"]') == "done"
    # looking back, the chip shows the step of that time
    desk("time => studio.state.send({kind: 'seek', time})", (received[0]["time"] + received[1]["time"]) / 2)
    desk.until("studio.state.status.seeking")
    assert desk.page.inner_text('[data-testid="step"]') == received[0]["name"].replace("_", " ")

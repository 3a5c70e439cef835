"""The page in a real browser, against the real server: how it opens, fits, explains, and fares when the server is away."""

import pytest
from desk import IN_A_BROWSER, PATIENCE, sit_down

from manikin.scenes.scene import shipped
from manikin.studio.server import Running, Studio
from manikin.studio.takes import TakeFolder

pytestmark = IN_A_BROWSER


def test_the_gallery_shows_every_scene_and_finds_by_words(tmp_path, browser):
    with Running(Studio(TakeFolder(tmp_path))) as running, sit_down(browser, running.address) as desk:
        desk.page.wait_for_selector(".card")
        cards = desk("[...document.querySelectorAll('.card')].map(c => c.dataset.testid)")
        assert set(cards) == {f"scene-{name}" for name in shipped()}
        desk.page.fill('[data-testid="search"]', "pendulum heavy")
        assert desk("[...document.querySelectorAll('.card')].map(c => c.dataset.testid)") == ["scene-pendulum"]
        desk.page.press('[data-testid="search"]', "Enter")
        desk.until("studio.ready && studio.state.model.scene === 'pendulum'")
        assert desk("document.querySelector('.gallery').hidden")


def test_the_why_panel_explains(desk):
    desk.open("stand")
    desk.click("tab-why")
    desk.play()
    desk.until("studio.state.why && document.querySelectorAll('.task').length > 1")
    desk.until("studio.cones > 0 && document.querySelectorAll('.joint').length > 3")
    assert "cm from the edge" in desk.page.inner_text('[data-testid="why-balance"]')
    order = desk("studio.state.why.tasks.filter(t => t.active).map(t => t.priority)")
    assert order == sorted(order)
    # looking back: these are the reasons of the end, and the arrows would be in the wrong place
    desk("studio.state.send({kind: 'seek', time: 0})")
    desk.until("studio.state.status.seeking && studio.cones === 0")
    assert desk.page.is_visible('[data-testid="why-later"]')
    desk.play()
    desk.until("studio.cones > 0")
    assert not desk.page.is_visible('[data-testid="why-later"]')
    desk.click("tab-knobs")
    desk.until("studio.cones === 0 && !studio.state.status.why")


def test_a_lost_connection_is_reported_and_comes_back(browser, tmp_path):
    first = Running(Studio(TakeFolder(tmp_path), token="a-token"))
    with first, sit_down(browser, first.address) as desk:
        desk.open("stand")
        first.close()
        desk.page.wait_for_selector('[data-testid="banner"]:not([hidden])', timeout=PATIENCE)
        assert "Connection lost" in desk.page.inner_text('[data-testid="banner"]')
        with Running(Studio(TakeFolder(tmp_path), token="a-token"), port=first.port):
            desk.until("studio.state.link.state === 'open'")
            assert not desk.page.is_visible('[data-testid="banner"]')
            # a server that has just begun shows no scene yet
            desk.page.wait_for_selector('[data-testid="gallery"]:not([hidden])', timeout=PATIENCE)
            desk.click("scene-stand")
            desk.until("studio.ready && studio.state.model.scene === 'stand'")


def test_a_wrong_token_says_what_to_do(browser, server):
    address = server.address.replace(server.studio.token, "wrong")
    with sit_down(browser, address) as desk:
        desk.until("studio.state.link.state === 'refused'")
        assert "manikin studio" in desk.page.inner_text('[data-testid="banner"]')


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_1280_by_720_in_light_and_dark(browser, server, scheme):
    with sit_down(browser, server.address, color_scheme=scheme) as desk:
        desk.page.set_viewport_size({"width": 1280, "height": 720})
        desk.open("stand")
        assert desk("document.documentElement.dataset.theme") == scheme
        assert desk(
            "document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"
        )
        for name in ("play", "timeline", "branch", "tab-takes", "push", "scenes"):
            box = desk.page.locator(f'[data-testid="{name}"]').bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 1280
            assert box["y"] + box["height"] <= 720
        desk.page.keyboard.press("?")
        assert desk.page.is_visible('[data-testid="help"]')
        desk.page.keyboard.press("Escape")


def test_without_webgl_it_says_what_to_do(browser, server):
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto(server.address)
    assert "WebGL" in page.inner_text('[role="alert"]')
    context.close()

"""What is wrong with how a page is laid out, at several widths: measured in the browser, not by eye."""

from __future__ import annotations

from playwright.sync_api import Page

from tiers import size

#: A phone, a small window, a usual one and a large one; in the fast tier the first and the third.
WIDTHS = size((390, 1400), (390, 1000, 1400, 1920))

#: Faults of what is shown now, a line each. What is folded away or inside a box that scrolls sideways is left out.
PROBE = """() => {
  const faults = [];
  const shown = (each) => each.checkVisibility({ visibilityProperty: true });
  const name = (each) => `${each.localName}.${each.getAttribute("class") ?? ""} ${(each.textContent ?? "").trim().slice(0, 30)}`;
  const root = document.documentElement;
  const foot = document.querySelector("footer.end") ?? document.body;
  const end = foot.getBoundingClientRect().bottom + scrollY;
  const longest = Math.max(root.scrollHeight, document.body.scrollHeight);
  if (longest > Math.max(innerHeight, end) + 2) faults.push(`${Math.round(longest - end)} px of blank page below the end`);
  const widest = Math.max(root.scrollWidth, document.body.scrollWidth);
  if (widest > innerWidth) faults.push(`${widest} px wide`);
  for (const svg of document.querySelectorAll("main svg")) {
    if (!shown(svg)) continue;
    const box = svg.getBoundingClientRect();
    const least = svg.classList.contains("chart") ? 160 : 4;
    if (box.width < least || box.height < 4) faults.push(`${name(svg)}: ${Math.round(box.width)} x ${Math.round(box.height)} px`);
    for (const text of svg.querySelectorAll("text")) {
      const own = text.getBoundingClientRect();
      if (own.left < box.left - 1 || own.right > box.right + 1 || own.top < box.top - 1 || own.bottom > box.bottom + 1)
        faults.push(`cut in a chart: ${name(text)}`);
    }
  }
  const scrolls = (each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowX);
  const walk = (parent, inside) => {
    for (const each of parent.children) {
      if (!shown(each) || each.localName === "svg" || each.classList.contains("unseen") || each.classList.contains("skip")) continue;
      if (each.localName === "select" || each.localName === "textarea") continue;
      const own = each.getBoundingClientRect();
      if (own.right > inside.right + 1 || own.left < inside.left - 1) faults.push(`sticks out: ${name(each)}`);
      else if (getComputedStyle(each).overflowX === "hidden" && each.scrollWidth > each.clientWidth + 1) faults.push(`cut: ${name(each)}`);
      else if (!scrolls(each)) walk(each, each.matches(".card, fieldset, figure, td, th") ? own : inside);
    }
  };
  walk(document.body, { left: 0, right: innerWidth });
  return [...new Set(faults)];
}"""


def faults(page: Page) -> list[str]:
    """The faults of a page at each of the widths. Leaves the window at the last of them."""
    wrong: list[str] = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        wrong += [f"at {width} px: {each}" for each in page.evaluate(PROBE)]
    return wrong

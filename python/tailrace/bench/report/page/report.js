// What is chosen, the legends, the texts of marks, and the page on paper.

const MOST_ON_PAPER = 60; // charts of one section; the tables have all numbers
const PAPER = 680; // pixels between the margins of A4, a little less
const COLUMN = 332; // of two
const sections = [];
const chosen = {}; // title of a choice -> value; all sections follow
const tip = document.getElementById("tip");

class Section {
  constructor(host) {
    this.host = host;
    this.name = host.dataset.section;
    this.panels = data.sections[this.name];
    this.hidden = new Set();
    this.path = [];
    this.logarithmic = null; // where nobody chose: by the values
    this.panel = this.first();
    this.selects = new Map();
    this.figure = html("figure");
    host.append(this.choices(), this.figure);
    this.draw();
    let width = this.width();
    new ResizeObserver(() => {
      if (Math.abs(this.width() - width) < 2) return;
      width = this.width();
      this.draw();
    }).observe(host);
  }

  // The panel to begin with: the largest change, doubtful rounds, the longest curves.
  first() {
    const weight = (panel) => {
      if (this.name === "compare") {
        return Math.max(...panel.rows.map((row) => (row.dots[0].marked ? Math.abs(Math.log(row.dots[0].value)) : 0)));
      }
      if (panel.lines) return Math.max(0, ...panel.lines.map((line) => line.points.length));
      return this.name === "rounds" ? panel.notes.length : 0;
    };
    return this.panels.reduce((best, one) => (weight(one) > weight(best) ? one : best), this.panels[0]);
  }

  width() {
    return Math.max(240, Math.floor(this.host.clientWidth));
  }

  choices() {
    const bar = html("div", { class: "choices" });
    for (const title of Object.keys(this.panels[0].choice)) {
      const values = [...new Set(this.panels.map((panel) => panel.choice[title]))];
      if (values.length < 2) continue;
      const select = html("select");
      select.addEventListener("change", () => {
        chosen[title] = select.value;
        for (const one of sections) one.follow(title);
      });
      this.selects.set(title, select);
      bar.append(html("label", {}, html("span", {}, title), select));
    }
    this.show();
    return bar;
  }

  // Take over what was chosen, the latest choice before all others.
  follow(latest) {
    if (!this.selects.has(latest)) return;
    let left = this.panels;
    const titles = [latest, ...[...this.selects.keys()].filter((title) => title !== latest)];
    for (const title of titles) {
      const value = title in chosen ? chosen[title] : this.panel.choice[title];
      const fitting = left.filter((panel) => panel.choice[title] === value);
      if (fitting.length) left = fitting;
    }
    this.panel = left[0];
    this.path = [];
    this.show();
    this.draw();
  }

  // Each choice offers what the choices before it leave; where they leave one value, there is nothing to choose.
  show() {
    let left = this.panels;
    for (const [title, select] of this.selects) {
      const values = [...new Set(left.map((panel) => panel.choice[title]))];
      select.replaceChildren(...values.map((value) => html("option", { value }, value)));
      select.value = this.panel.choice[title];
      select.parentElement.hidden = values.length < 2;
      left = left.filter((panel) => panel.choice[title] === select.value);
    }
  }

  draw() {
    this.figure.replaceChildren(...this.content(this.panel, this.width(), this.hidden, this.path, true));
    this.figure.querySelector(".mark")?.setAttribute("tabindex", "0");
  }

  content(panel, width, hidden, path, live) {
    const parts = [html("figcaption", {}, panel.title)];
    if (panel.lines) {
      const log = this.logarithmic ?? far(panel);
      parts.push(lineChart(panel, width, hidden, log), this.legend(lineKeys(panel), live, log));
    } else if (panel.flame) {
      parts.push(flameChart(panel, width, path, (place) => this.enlarge(place)));
    } else {
      parts.push(rowChart(panel, width, hidden));
      if (panel.keys) parts.push(this.legend(areaKeys(panel), live));
    }
    const notes = (panel.notes || []).map((one) => html("li", {}, one));
    if (notes.length) parts.push(html("ul", { class: "notes" }, ...notes));
    return parts;
  }

  enlarge(place) {
    this.path = place;
    this.draw();
    hideTip();
    const marks = this.figure.querySelectorAll(".mark");
    marks[Math.min(place.length, marks.length - 1)].focus();
  }

  legend(keys, live, log) {
    const made = html("div", { class: "legend" });
    for (const [name, sample, limit] of keys) {
      const shown = !(live && this.hidden.has(name));
      const words = limit ? `${name} (limit)` : name;
      const button = html("button", { type: "button", "aria-pressed": shown }, sample, words);
      button.addEventListener("click", () => {
        if (!this.hidden.delete(name)) this.hidden.add(name);
        this.again([...made.children].indexOf(button));
      });
      made.append(button);
    }
    if (log !== undefined && live) {
      const button = html("button", { type: "button", class: "scale", "aria-pressed": log }, "logarithmic");
      button.addEventListener("click", () => {
        this.logarithmic = !log;
        this.again([...made.children].indexOf(button));
      });
      made.append(button);
    }
    return made;
  }

  // Draw again; the button that was used keeps the keyboard.
  again(button) {
    this.draw();
    this.figure.querySelectorAll(".legend button")[button].focus();
  }

  toPaper() {
    const panels = this.panels.length <= MOST_ON_PAPER ? this.panels : [this.panel];
    const width = panels.length > 1 ? COLUMN : PAPER;
    this.paper = html("div", { class: panels.length > 1 ? "paper columns" : "paper" });
    for (const panel of panels) {
      this.paper.append(html("figure", {}, ...this.content(panel, width, new Set(), [], false)));
    }
    if (panels.length < this.panels.length) {
      const text = `${this.panels.length} charts would not fit on paper: the chosen one is shown; the tables have all.`;
      this.paper.append(html("p", {}, text));
    }
    this.host.append(this.paper);
  }
}

// Whether values are so far apart that a linear scale would hide the small ones.
function far(panel) {
  const values = panel.lines.flatMap((line) => line.points.map((one) => one.y)).filter((one) => one > 0);
  return values.length > 0 && Math.max(...values) > 30 * Math.min(...values);
}

function lineKeys(panel) {
  return panel.lines.map((line) => {
    const { classes, shape } = looks(line.name, line.limit);
    const sample = svg("svg", { width: 30, height: 14, "aria-hidden": true },
      svg("path", { class: `line ${classes}`, d: "M1 7H29" }),
      marker(shape, 15, 7, { class: `point ${classes}` }, 4.5));
    return [line.name, sample, line.limit];
  });
}

function areaKeys(panel) {
  const keys = [...new Set(panel.rows.flatMap((row) => row.parts.map((part) => part.key)))];
  return keys.map((key) => {
    const square = svg("rect", { class: shade(key, true), x: 1, y: 1, width: 12, height: 12 });
    return [key, svg("svg", { width: 14, height: 14, "aria-hidden": true }, square), false];
  });
}

function showTip(mark) {
  const [first, ...others] = texts.get(mark);
  tip.replaceChildren(html("strong", {}, first), ...others.map((one) => html("span", {}, one)));
  tip.hidden = false;
  const [at, own] = [mark.getBoundingClientRect(), tip.getBoundingClientRect()];
  const inside = (value, most) => Math.max(6, Math.min(value, most - 6));
  const above = at.top - own.height - 8;
  const wide = document.documentElement.clientWidth;
  tip.style.left = `${inside(at.left + at.width / 2 - own.width / 2, wide - own.width)}px`;
  tip.style.top = `${above > 6 ? above : inside(at.bottom + 8, innerHeight - own.height)}px`;
}

function hideTip() {
  tip.hidden = true;
}

// Tab reaches a chart; in it, arrows go from mark to mark.
function move(event) {
  const mark = event.target.closest?.(".mark");
  if (event.key === "Escape") hideTip();
  if (!mark) return;
  const marks = [...mark.closest("svg").querySelectorAll(".mark")];
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (by) {
    const next = marks[(marks.indexOf(mark) + by + marks.length) % marks.length];
    mark.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
    event.preventDefault();
  } else if (event.key === "Enter" || event.key === " ") {
    mark.dispatchEvent(new MouseEvent("click"));
    event.preventDefault();
  }
}

for (const [show, hide] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
  document.addEventListener(show, (event) => {
    const mark = event.target.closest?.(".mark");
    if (mark) showTip(mark);
  });
  document.addEventListener(hide, (event) => event.target.closest?.(".mark") && hideTip());
}
document.addEventListener("keydown", move);
addEventListener("scroll", hideTip, { passive: true });
addEventListener("beforeprint", () => {
  for (const one of sections) one.toPaper();
  for (const one of document.querySelectorAll("details:not([open])")) {
    one.dataset.closed = "";
    one.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const one of sections) one.paper?.remove();
  for (const one of document.querySelectorAll("details[data-closed]")) {
    delete one.dataset.closed;
    one.open = false;
  }
});
for (const host of document.querySelectorAll(".charts")) {
  if (data.sections[host.dataset.section].length) sections.push(new Section(host));
}

// What the page does beyond being read. Names and texts of the workspace reach the
// document through textContent only.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const make = (tag, cls, text) => {
    const e = document.createElement(tag);
    if (cls) e.className = cls;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const part = (n, of) => (of ? (n * 100 / of).toFixed(1) : "0.0") + "%";

  // Colours: the system's, or one of two for as long as the page is open.
  const theme = $("theme");
  const themes = ["system", "light", "dark"];
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || "system";
    const next = themes[(themes.indexOf(now) + 1) % themes.length];
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    theme.textContent = "Colours: " + next;
  });

  // The section in view is marked in the navigation.
  const links = new Map();
  for (const a of document.querySelectorAll("nav.sections a")) links.set(a.hash.slice(1), a);
  const mark = () => {
    let now = "overview";
    for (const id of links.keys()) {
      if ($(id).getBoundingClientRect().top <= Math.min(Math.max(innerHeight / 4, 70), 250)) now = id;
    }
    if (scrollY < 1) now = "overview";
    for (const [id, a] of links) {
      if (id === now) a.setAttribute("aria-current", "true");
      else a.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", mark, { passive: true });
  addEventListener("resize", mark);
  mark();

  // The tree: arrows move, open and close, as in a file manager.
  const tree = $("tree");
  if (tree) {
    const all = [...tree.querySelectorAll("details")];
    const rows = () => [...tree.querySelectorAll("summary")].filter((s) => s.offsetParent !== null);
    tree.addEventListener("keydown", (e) => {
      const at = e.target.closest("summary");
      if (!at || e.altKey || e.ctrlKey || e.metaKey) return;
      const box = at.parentElement;
      let to = null;
      switch (e.key) {
        case "ArrowDown": case "ArrowUp": {
          const list = rows();
          to = list[list.indexOf(at) + (e.key === "ArrowDown" ? 1 : -1)];
          break;
        }
        case "Home": to = rows()[0]; break;
        case "End": to = rows().pop(); break;
        case "ArrowRight":
          if (box.open) to = box.querySelector(":scope > ul > li > details > summary");
          else box.open = true;
          break;
        case "ArrowLeft":
          if (box.open) box.open = false;
          else {
            const up = box.parentElement.closest("details");
            to = up && up.querySelector("summary");
          }
          break;
        default: return;
      }
      e.preventDefault();
      if (to) to.focus();
    });
    // A row shows its path from the one above it; the filter takes whole ones, too.
    const paths = new Map();
    const text = new Map();
    for (const d of all) {
      const up = d.parentElement.closest("details");
      const before = up && !up.dataset.root ? paths.get(up) + "/" : "";
      paths.set(d, before + d.querySelector(":scope > summary > .what").textContent);
      const files = [...d.querySelectorAll(":scope > ul > .file")].map((x) => (d.dataset.root ? "" : paths.get(d) + "/") + x.textContent);
      text.set(d, [paths.get(d), d.querySelector("summary").textContent, ...files].join(" ").toLowerCase());
    }
    let before = null;
    const filter = () => {
      const q = $("filter").value.trim().toLowerCase();
      let hits = 0;
      if (q && !before) before = new Map(all.map((d) => [d, d.open]));
      for (const d of [...all].reverse()) {
        const hit = !q || text.get(d).includes(q);
        const below = [...d.querySelectorAll(":scope > ul > li > details")].some((x) => !x.parentElement.hidden);
        if (q && hit) hits++;
        d.parentElement.hidden = !(hit || below);
        if (q) d.open = below || hit;
        else if (before) d.open = before.get(d);
      }
      if (!q) before = null;
      $("filtered").textContent = q ? (hits === 1 ? "1 directory" : grouped(hits) + " directories") : "";
    };
    $("filter").addEventListener("input", filter);
    $("open-all").addEventListener("click", () => { for (const d of all) d.open = true; });
    $("close-all").addEventListener("click", () => { for (const d of all) d.open = false; });
    $("tree-tools").hidden = false;
  }

  // The picture of sizes. A directory is as large as everything in it.
  const data = JSON.parse($("data").textContent);
  const treemap = $("treemap");
  const node = (name, path, up) => ({ name, path, up, tokens: 0, kids: new Map(), layers: [0, 0, 0, 0, 0], file: false });
  const top = node("project", ".", null);
  // Names that differ in bytes that are no UTF-8 look alike, so what is in the data
  // goes by its number; only directories without context of their own go by name.
  const dirs = [];
  const place = (path, up) => {
    if (path === ".") return top;
    let at = up < 0 ? top : dirs[up];
    const segs = path.split("/");
    for (let i = at === top ? 0 : at.path.split("/").length; i < segs.length; i++) {
      const key = i === segs.length - 1 ? "dir " + dirs.length : "/" + segs[i];
      if (!at.kids.has(key)) at.kids.set(key, node(segs[i], segs.slice(0, i + 1).join("/"), at));
      at = at.kids.get(key);
    }
    return at;
  };
  for (const [dir, up, files] of data.dirs) {
    const at = place(dir, up);
    dirs.push(at);
    for (const [path, layer, tokens] of files) {
      // A file is a child of the directory that adds it, wherever it lies.
      const name = dir !== "." && path.startsWith(dir + "/") ? path.slice(dir.length + 1) : path;
      const leaf = node(name, path, at);
      leaf.file = true;
      at.kids.set("file " + at.kids.size, leaf);
      for (let n = leaf; n; n = n.up) { n.tokens += tokens; n.layers[layer] += tokens; }
    }
  }
  const mostly = (n) => n.layers.indexOf(Math.max(...n.layers));
  // A directory with nothing but another directory in it is passed through.
  const passed = (n) => {
    while (!n.file && n.kids.size === 1 && ![...n.kids.values()][0].file) n = [...n.kids.values()][0];
    return n;
  };
  // Squarified: rows are filled along the shorter side as long as the worst shape in
  // the row gets better.
  const squarify = (items, x, y, w, h) => {
    const out = [];
    let rest = items.reduce((s, i) => s + i.size, 0);
    let i = 0;
    while (i < items.length && rest > 0 && w > 0 && h > 0) {
      const side = Math.min(w, h);
      const scale = (w * h) / rest;
      let row = [], sum = 0, worst = Infinity;
      while (i + row.length < items.length) {
        const next = items[i + row.length];
        const s = sum + next.size;
        const thick = (s * scale) / side;
        let bad = 0;
        for (const r of [...row, next]) {
          const long = (r.size * scale) / thick;
          bad = Math.max(bad, long / thick, thick / long);
        }
        if (row.length && bad > worst) break;
        row.push(next); sum = s; worst = bad;
      }
      const thick = (sum * scale) / side;
      let at = 0;
      for (const r of row) {
        const long = (r.size * scale) / thick;
        if (w >= h) out.push({ r, x, y: y + at, w: thick, h: long });
        else out.push({ r, x: x + at, y, w: long, h: thick });
        at += long;
      }
      if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
      rest -= sum; i += row.length;
    }
    return out;
  };
  if (treemap && top.tokens > 0) {
    const crumbs = make("ol", "crumbs");
    const tiles = make("div", "tiles");
    const said = make("p", "said");
    tiles.setAttribute("role", "group");
    tiles.setAttribute("aria-label", "Context by size; the table below says the same");
    said.setAttribute("role", "status");
    treemap.append(crumbs, tiles, said);
    treemap.hidden = false;
    $("sizes-table").open = false;
    let shown = passed(top);
    const words = (n) => {
      const where = n.file ? n.path : (n.path === "." ? "project" : n.path + "/");
      return where + ": " + grouped(n.tokens) + " tokens, " + part(n.tokens, top.tokens) + " of all" + (n.file ? ", L" + mostly(n) : "");
    };
    const go = (n, focus) => {
      shown = passed(n);
      draw();
      if (focus) {
        const first = tiles.querySelector(".tile");
        if (first) first.focus();
      }
      said.textContent = words(shown);
    };
    const draw = () => {
      crumbs.textContent = "";
      const path = [];
      for (let n = shown; n; n = n.up) path.unshift(n);
      path.forEach((n, i) => {
        const li = make("li");
        const b = make("button", "", n.name);
        b.type = "button";
        if (i === path.length - 1) b.setAttribute("aria-current", "true");
        else b.addEventListener("click", () => go(n, true));
        li.append(b);
        crumbs.append(li);
      });
      tiles.textContent = "";
      fill(shown, 0, 0, tiles.clientWidth, tiles.clientHeight, 0);
      if (tiles.firstChild) tiles.firstChild.tabIndex = 0;
      said.textContent = words(shown);
    };
    // What would be smaller than a fingertip becomes one tile.
    const parts = (n, area) => {
      const kids = [...n.kids.values()].filter((k) => k.tokens > 0).sort((a, b) => b.tokens - a.tokens);
      const least = 420 / area * n.tokens;
      const many = kids.findIndex((k, i) => i >= 60 || k.tokens < least);
      const items = kids.map((k) => ({ n: k, size: k.tokens }));
      if (many < 0 || kids.length - many < 2) return items;
      const rest = items.splice(many);
      items.push({ n: null, count: rest.length, size: rest.reduce((s, k) => s + k.size, 0) });
      return items.sort((a, b) => b.size - a.size);
    };
    const fill = (n, x, y, w, h, level) => {
      for (const t of squarify(parts(n, w * h), x, y, w, h)) {
        const k = t.r.n;
        const grouping = k && !k.file && level < 2 && t.w > 110 && t.h > 70;
        tiles.append(tile(t, grouping));
        if (grouping) fill(passed(k), t.x + 4, t.y + 23, t.w - 10, t.h - 29, level + 1);
      }
    };
    const tile = (t, grouping) => {
      const n = t.r.n;
      const opens = n && !n.file;
      const e = make(opens ? "button" : "div", "tile " + (grouping ? "group" : n ? "l" + mostly(n) : "rest"));
      if (opens) e.type = "button";
      e.tabIndex = -1;
      e.style.left = t.x + "px"; e.style.top = t.y + "px";
      e.style.width = Math.max(t.w - 2, 1) + "px"; e.style.height = Math.max(t.h - 2, 1) + "px";
      const label = n ? words(n) : grouped(t.r.count) + " smaller ones: " + grouped(t.r.size) + " tokens";
      e.setAttribute("aria-label", label);
      if (!opens) e.setAttribute("role", "img");
      e.title = label;
      if (t.w > 46 && t.h > 22) {
        e.append(make("b", "", n ? n.name : grouped(t.r.count) + " smaller"));
        if (grouping) e.append(make("span", "", grouped(t.r.size)));
        else if (t.h > 42) e.append(make("span", "", (n ? "L" + mostly(n) + " · " : "") + grouped(t.r.size)));
      } else e.style.padding = "0";
      e.addEventListener("focus", () => { said.textContent = label; });
      e.addEventListener("mouseenter", () => { said.textContent = label; });
      if (opens) e.addEventListener("click", () => go(n, true));
      return e;
    };
    tiles.addEventListener("keydown", (e) => {
      const list = [...tiles.children];
      const at = list.indexOf(e.target);
      let to = -1;
      switch (e.key) {
        case "ArrowRight": case "ArrowDown": to = Math.min(at + 1, list.length - 1); break;
        case "ArrowLeft": case "ArrowUp": to = Math.max(at - 1, 0); break;
        case "Home": to = 0; break;
        case "End": to = list.length - 1; break;
        case "Escape": case "Backspace": if (shown.up) { e.preventDefault(); go(upFrom(shown), true); } return;
        default: return;
      }
      e.preventDefault();
      if (at >= 0) list[at].tabIndex = -1;
      list[to].tabIndex = 0;
      list[to].focus();
    });
    // Up from a directory is the nearest one that shows something else.
    const upFrom = (n) => {
      let up = n.up;
      while (up && up.up && passed(up) === n) up = up.up;
      return up && passed(up) !== n ? up : n;
    };
    draw();
    if ("ResizeObserver" in window) {
      let width = tiles.clientWidth;
      new ResizeObserver(() => {
        if (tiles.clientWidth !== width) { width = tiles.clientWidth; draw(); }
      }).observe(tiles);
    }
  }

  // Drawings: larger and smaller, and what belongs to a box when the pointer is on it.
  // A drawing begins as wide as the page, as long as its letters can be read.
  for (const box of document.querySelectorAll(".graph")) {
    const svg = box.querySelector("svg");
    const width = Number(svg.getAttribute("width"));
    let scale = 1;
    const zoom = (to) => { scale = Math.min(Math.max(to, 0.2), 3); svg.style.width = width * scale + "px"; };
    const tools = make("div", "zoom");
    for (const [text, does] of [["Smaller", () => zoom(scale / 1.3)], ["Larger", () => zoom(scale * 1.3)], ["Fit", () => zoom(box.clientWidth / width)]]) {
      const b = make("button", "quiet", text);
      b.type = "button";
      b.addEventListener("click", does);
      tools.append(b);
    }
    box.before(tools);
    const begin = () => { if (box.clientWidth) zoom(Math.min(1, Math.max(0.8, box.clientWidth / width))); };
    box.closest("details").addEventListener("toggle", begin, { once: true });
    const paths = [...box.querySelectorAll("path")];
    const nodes = [...box.querySelectorAll(".node")];
    for (const n of nodes) {
      const i = n.dataset.i;
      n.addEventListener("mouseenter", () => {
        const near = new Set([i]);
        for (const p of paths) {
          const on = p.dataset.a === i || p.dataset.b === i;
          p.classList.toggle("near", on);
          if (on) { near.add(p.dataset.a); near.add(p.dataset.b); }
        }
        for (const m of nodes) m.classList.toggle("near", near.has(m.dataset.i));
        box.classList.add("lit");
      });
      n.addEventListener("mouseleave", () => box.classList.remove("lit"));
    }
  }

  // One map at a time, and its address in the bar.
  const maps = [...document.querySelectorAll("article.map")];
  const choices = [...document.querySelectorAll(".chooser a")];
  const show = (id) => {
    for (const m of maps) m.hidden = m.id !== id;
    for (const a of choices) {
      if (a.hash === "#" + id) a.setAttribute("aria-current", "true");
      else a.removeAttribute("aria-current");
    }
  };
  if (maps.length) {
    const from = () => maps.find((m) => "#" + m.id === location.hash);
    const choose = (move) => {
      const m = from();
      if (m) {
        show(m.id);
        if (move) { m.scrollIntoView(); m.focus({ preventScroll: true }); }
      } else if (!move) show(maps[0].id);
    };
    addEventListener("hashchange", () => choose(true));
    choose(false);
    if (from()) from().scrollIntoView({ behavior: "instant" });
    const nav = document.querySelector(".chooser");
    nav.addEventListener("click", (e) => {
      const a = e.target.closest("a");
      if (!a) return;
      // The list stays where it is, so that one map after the other can be looked at.
      e.preventDefault();
      history.replaceState(null, "", a.hash);
      show(a.hash.slice(1));
    });
  }

  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
  document.documentElement.dataset.ready = "true";
})();

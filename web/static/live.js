// A live page fetches itself again when the server says that something happened, and replaces the parts that differ.
"use strict";

(() => {
  const main = document.querySelector("main[data-stream]");
  if (!main) return;

  const PAUSE_MS = 400;
  const POLL_MS = 5000;
  let waiting = null;
  let fetching = false;
  let again = false;

  const parts = (root) => root.querySelectorAll("[data-part]");
  const isOpen = (part) => [...part.querySelectorAll("details")].map((details) => details.open);

  const objects = (part) => [...part.querySelectorAll("object")];
  const isShown = (element) => element.getClientRects().length > 0;

  const isTyping = (part) => part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");

  // A picture stays until the one that takes its place is there; what the window is too narrow or too wide for is not loaded.
  function exchange(old, fresh) {
    const next = document.importNode(fresh, true);
    if (!isShown(old)) return old.replaceWith(next);
    const kind = next.className;
    next.classList.add("coming");
    next.addEventListener("load", () => {
      for (const earlier of [...next.parentNode.getElementsByClassName(kind)]) {
        if (earlier.compareDocumentPosition(next) & Node.DOCUMENT_POSITION_FOLLOWING) earlier.remove();
      }
      next.classList.remove("coming");
    });
    next.addEventListener("error", () => next.remove());
    old.after(next);
  }

  async function refresh() {
    waiting = null;
    if (fetching) {
      again = true;
      return;
    }
    fetching = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(`the page answers ${answer.status}`);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of parts(main)) {
        const other = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
        if (!other || other.innerHTML === part.innerHTML || isTyping(part)) continue;
        const drawn = objects(other);
        if (drawn.length && objects(part).length) {
          // Around its pictures such a part has only what never differs.
          for (const picture of drawn) {
            const old = objects(part).filter((one) => one.classList.contains(picture.className)).pop();
            if (old && old.getAttribute("data") !== picture.getAttribute("data")) exchange(old, picture);
          }
          continue;
        }
        const open = isOpen(part);
        part.replaceChildren(...other.childNodes);
        part.querySelectorAll("details").forEach((details, n) => { if (n < open.length) details.open = open[n]; });
      }
      document.title = fresh.title;
      main.dataset.refreshed = String(Number(main.dataset.refreshed || 0) + 1);
      if (!fresh.querySelector("main[data-stream]")) stop();
    } catch {
      // The server may be restarting: a later try tells.
      setTimeout(soon, POLL_MS);
    } finally {
      fetching = false;
      if (again) {
        again = false;
        soon();
      }
    }
  }

  const soon = () => { waiting ??= setTimeout(refresh, PAUSE_MS); };

  let timer = null;
  let source = null;
  let ended = false;

  function listen() {
    if (source || ended) return;
    source = new EventSource(main.dataset.stream);
    source.addEventListener("change", soon);
    source.addEventListener("error", () => {
      // Without the stream, because too many pages listen, asking from time to time does.
      if (source && source.readyState === EventSource.CLOSED) timer ??= setInterval(soon, POLL_MS);
    });
  }

  function hush() {
    if (source) source.close();
    source = null;
    clearInterval(timer);
    timer = null;
  }

  function stop() {
    ended = true;
    hush();
  }

  // Browsers open some six connections to a server in all: a page that nobody looks at gives its own back.
  document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));
  if (!document.hidden) listen();
})();

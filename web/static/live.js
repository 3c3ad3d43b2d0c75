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

  const isTyping = (part) => part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");

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

// Zoom and pan by wheel, drag and keys, the same for everything that moves.
npukit.pointer = (() => {
  const NEAR = 4;

  /// Distinguishes drags from clicks: `drag(dx, dy, event)` during a drag, `click(event)` for a click.
  function drags(element, { drag, click, start, end }) {
    let from = null;
    let last = null;
    let moved = false;
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      [from, last, moved] = [event, event, false];
      element.setPointerCapture(event.pointerId);
      start?.(event);
    });
    element.addEventListener("pointermove", (event) => {
      if (!from) return;
      if (!moved && Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY) < NEAR) return;
      moved = true;
      drag?.(event.clientX - last.clientX, event.clientY - last.clientY, event);
      last = event;
    });
    element.addEventListener("pointerup", (event) => {
      if (from && !moved) click?.(event);
      if (from) end?.(event, moved);
      from = null;
    });
    element.addEventListener("pointercancel", () => {
      from = null;
      end?.(null, false);
    });
  }

  /// The wheel zooms the focused element, or any with Control; otherwise the page scrolls as usual.
  function wheel(element, zoom, pan, hint) {
    element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && document.activeElement !== element) return hint?.();
      event.preventDefault();
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) return pan(sideways);
      return zoom(Math.exp(-event.deltaY / 400), event);
    }, { passive: false });
  }

  /// Runs the action of a key; keys with Control, Alt or Meta are left to the browser.
  function keys(element, actions) {
    element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || !actions[event.key]) return;
      event.preventDefault();
      actions[event.key](event);
    });
  }

  return { drags, wheel, keys };
})();

// On a phone a strip repeats the answer while it is out of sight and no keyboard is open.

/**
 * @param {HTMLElement} root the calculator
 * @param {HTMLElement} strip
 * @param {() => HTMLElement} verdict what the strip stands for
 */
export function watch(root, strip, verdict) {
  let away = false;
  const show = () => {
    const keyboard = window.visualViewport ? window.visualViewport.height < window.innerHeight * 0.75 : false;
    const typing = document.activeElement instanceof HTMLInputElement && document.activeElement.type === "text" && navigator.maxTouchPoints > 0;
    strip.hidden = !away || keyboard || typing || !strip.childElementCount;
  };
  new IntersectionObserver(([entry]) => {
    away = !entry.isIntersecting;
    show();
  }).observe(verdict());
  window.visualViewport?.addEventListener("resize", show);
  root.addEventListener("focusin", show);
  root.addEventListener("focusout", show);
  strip.addEventListener("click", (event) => {
    event.preventDefault();
    verdict().scrollIntoView({ block: "center" });
  });
}

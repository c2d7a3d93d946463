// An element in somebody's page brings its own styles: the stylesheet beside the script, once a document or shadow
// root.

/**
 * Resolves when the styles are there, or cannot be had: the page works without them.
 * @param {Element} element
 * @returns {Promise<void>}
 */
export function loadStyles(element) {
  const base = import.meta.url; // a name of its own: the bundler would take the file for one of its assets
  const url = new URL("style.css", base).href;
  const root = element.getRootNode();
  const place = root instanceof ShadowRoot ? root : document.head;
  const sheets = /** @type {NodeListOf<HTMLLinkElement>} */ (place.querySelectorAll("link[rel~=stylesheet]"));
  const known = [...sheets].find(({ href }) => href === url);
  if (known?.sheet) return Promise.resolve();
  const link = known ?? document.createElement("link");
  const done = new Promise((resolve) => {
    for (const event of ["load", "error"]) link.addEventListener(event, resolve, { once: true });
  });
  if (!known) place.append(Object.assign(link, { rel: "stylesheet", href: url }));
  return Promise.race([done, new Promise((resolve) => setTimeout(resolve, 5000))]).then(() => {});
}

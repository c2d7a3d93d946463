// The content security policies we ship, in one place: the server sends `site` as a header, web/index.html carries it in
// a <meta> (static hosts set no headers; a browser test compares the two), and the packer writes `offline` into the file.

const directives = {
  "default-src": "'none'",
  "script-src": "'self' 'wasm-unsafe-eval'",
  "style-src": "'self'",
  "img-src": "'self'",
  "connect-src": "'self'",
  "manifest-src": "'self'",
  "worker-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "require-trusted-types-for": "'script'",
  "trusted-types": "lit-html",
};

const text = (policy) => Object.entries(policy).map(([name, value]) => `${name} ${value}`).join("; ");

/** The policy of the site. */
export const site = text(directives);

/**
 * The policy of the offline file: no connection at all, and only the scripts and styles with these hashes.
 * @param {string[]} scripts `sha256-…` of each inline script
 * @param {string[]} styles `sha256-…` of each inline style
 */
export function offline(scripts, styles) {
  const quoted = (hashes) => hashes.map((hash) => `'${hash}'`).join(" ");
  return text({
    "default-src": "'none'",
    "script-src": `${quoted(scripts)} 'wasm-unsafe-eval'`,
    "style-src": quoted(styles) || "'none'",
    "img-src": "data:",
    "base-uri": directives["base-uri"],
    "form-action": directives["form-action"],
    "require-trusted-types-for": directives["require-trusted-types-for"],
    "trusted-types": directives["trusted-types"],
  });
}

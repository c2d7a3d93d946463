// Who shows the page: the neutral vendor. A build puts what catalog/vendor.json or another such file says in its place
// (web/vendor_plugin.js), so that it is there before anything is loaded.

/** @type {import("./catalog.d.ts").PageVendor} */
export const vendor = { name: "Tunefit", languages: ["en", "nl"], currency: "EUR" };

/** What the page says before its script runs; web/vendor_plugin.js puts it into index.html. */
export const firstTexts = {
  en: {
    description: "Work out how much GPU memory a fine-tuning run needs, whether it fits your card, and what fills the memory. In your browser; nothing you type leaves the page.",
    waiting: "Does this fine-tuning run fit? Loading the calculator…",
    noscript: "Tunefit calculates in your browser and needs JavaScript and WebAssembly for it.",
  },
  nl: {
    description: "Reken uit hoeveel GPU-geheugen een finetuning vraagt, of die op je kaart past en waar het geheugen blijft. In je eigen browser; niets van wat je invult verlaat de pagina.",
    waiting: "Past deze finetuning op je kaart? De rekenhulp wordt geladen…",
    noscript: "Tunefit rekent in je eigen browser en heeft daar JavaScript en WebAssembly voor nodig.",
  },
};

/** What the page says before its script runs; web/vendor_plugin.js puts it into index.html. */
export const firstTexts = {
  en: {
    description: "Work out whether a fine-tuning run fits your GPU, what fills the memory, how long the run takes and what it costs, rented or bought. In your browser; nothing you type leaves the page.",
    waiting: "Does this fine-tuning run fit? Loading the calculator…",
    noscript: "Tunefit calculates in your browser and needs JavaScript and WebAssembly for it.",
  },
  nl: {
    description: "Reken uit of een finetuning op je GPU past, waar het geheugen blijft, hoe lang de run duurt en wat die kost, gehuurd of gekocht. In je eigen browser; niets van wat je invult verlaat de pagina.",
    waiting: "Past deze finetuning op je kaart? De rekenhulp wordt geladen…",
    noscript: "Tunefit rekent in je eigen browser en heeft daar JavaScript en WebAssembly voor nodig.",
  },
};

import "./calculator.js";

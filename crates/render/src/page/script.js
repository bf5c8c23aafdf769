// The page is whole without this: it adds tooltips, the arrow keys in charts and the order of tables.
(function () {
  "use strict";
  var tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.appendChild(tip);
  function show(mark, x, y) {
    tip.textContent = mark.getAttribute("data-tip");
    tip.hidden = false;
    var box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(4, y + 18 + box.height > innerHeight ? y - box.height - 8 : y + 18) + "px";
  }
  // The browser's own tooltip comes late and not by keyboard.
  document.querySelectorAll(".mark").forEach(function (mark) {
    var title = mark.querySelector("title");
    mark.setAttribute("data-tip", title.textContent);
    title.remove();
    mark.addEventListener("mousemove", function (e) { show(mark, e.clientX, e.clientY); });
    mark.addEventListener("mouseleave", function () { tip.hidden = true; });
  });
  // In a chart that has the focus, the arrow keys go from mark to mark.
  document.querySelectorAll("figure").forEach(function (figure) {
    var marks = figure.querySelectorAll(".mark"), at = -1;
    function leave() {
      if (marks[at]) { marks[at].classList.remove("at"); }
      tip.hidden = true;
    }
    figure.addEventListener("keydown", function (e) {
      var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
      if (e.key === "Escape") { leave(); at = -1; }
      if (!step || !marks.length || e.target !== figure) { return; }
      e.preventDefault();
      leave();
      at = at === -1 && step === -1 ? marks.length - 1 : (at + step + marks.length) % marks.length;
      marks[at].classList.add("at");
      marks[at].scrollIntoView({ block: "nearest" });
      var box = marks[at].getBoundingClientRect();
      show(marks[at], box.left + box.width / 2, box.bottom - 14);
    });
    figure.addEventListener("blur", leave);
  });
  // A click on a heading puts the rows in order, a second one reverses it.
  function key(row, column) {
    var cell = row.cells[column], value = cell.getAttribute("data-v");
    var number = parseFloat(value === null ? cell.textContent.replace(/[,~]/g, "") : value);
    return isNaN(number) ? cell.textContent : number;
  }
  document.querySelectorAll("table").forEach(function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (heading, column) {
      var button = document.createElement("button");
      button.textContent = heading.textContent;
      heading.textContent = "";
      heading.appendChild(button);
      button.addEventListener("click", function () {
        var down = heading.getAttribute("aria-sort") === "descending", body = table.tBodies[0];
        Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) { other.removeAttribute("aria-sort"); });
        heading.setAttribute("aria-sort", down ? "ascending" : "descending");
        var rows = Array.prototype.slice.call(body.rows).map(function (row) { return [key(row, column), row]; });
        rows.sort(function (a, b) {
          var less = typeof a[0] === typeof b[0] ? a[0] < b[0] : typeof a[0] === "string";
          return a[0] === b[0] ? 0 : less === down ? -1 : 1;
        });
        rows.forEach(function (row) { body.appendChild(row[1]); });
      });
    });
  });
}());

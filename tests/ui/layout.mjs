// What a reader sees to be wrong with the layout of a page. Both run in the page itself.

// Columns of numbers whose head does not end where the numbers do.
export function crookedColumns() {
  const endOf = (cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect().right;
  };
  const faults = [];
  for (const head of document.querySelectorAll('thead th')) {
    if (!head.checkVisibility()) continue; // rows that are cards have no heads
    const cells = [...head.closest('table').tBodies].flatMap((body) =>
      [...body.rows].map((row) => row.cells[head.cellIndex]),
    );
    const numbers = cells.filter((cell) => cell.matches('.number'));
    if (numbers.some((cell) => Math.abs(endOf(cell) - endOf(head)) > 1)) {
      faults.push(`"${head.innerText}" is not above its numbers`);
    }
  }
  return faults;
}

// Texts of which a part is hidden, and which do not say the whole when the pointer rests on them.
// Labels are never cut.
export function cutTexts() {
  const isCut = (element) => {
    const {overflowX, overflowY} = getComputedStyle(element);
    const hides = (overflow) => overflow === 'hidden' || overflow === 'clip';
    return (
      (hides(overflowX) && element.scrollWidth > element.clientWidth + 1) ||
      (hides(overflowY) && element.scrollHeight > element.clientHeight + 1)
    );
  };
  return [...document.querySelectorAll('main *')]
    .filter((element) => element.innerText?.trim() && element.clientWidth > 1)
    .filter((element) => isCut(element) && !element.closest('.virtual'))
    .filter((element) => element.matches('.label') || !element.closest('[title]'))
    .map((element) => `cut: ${element.className} "${element.innerText}"`);
}

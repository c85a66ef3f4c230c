/** Returns how many of the rows, which ascend by their key, have a key of at most `limit`. */
export function upperBound<Row>(rows: readonly Row[], keyOf: (row: Row) => number, limit: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle];
    if (row !== undefined && keyOf(row) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

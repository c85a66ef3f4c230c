/**
 * Returns an integer with commas between its thousands, such as `12,345`. `toLocaleString` is not used, because its
 * first call in a process loads the locale data, which takes about 15 ms.
 */
export function groupedDigits(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

/** True if version `a` (`1.2.3`) is later than `b`. Anything after `-` or `+` is ignored. */
export function isLater(a: string, b: string): boolean {
  const [left, right] = [a, b].map((one) => (/^\d+(\.\d+)*/.exec(one)?.[0] ?? "0").split(".").map(Number));
  for (let at = 0; at < 3; at += 1) {
    const difference = (left?.[at] ?? 0) - (right?.[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

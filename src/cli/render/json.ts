/**
 * Writes a value as one JSON document: an object indented, a list with one element per line. People and `head` can read
 * this form, and a long list is never one string in memory.
 */
export function writeJson(value: unknown, write: (text: string) => void): void {
  if (!Array.isArray(value)) {
    write(`${JSON.stringify(value, null, 2)}\n`);
    return;
  }
  const items: readonly unknown[] = value;
  write("[");
  for (const [at, item] of items.entries()) write(`${at === 0 ? "\n" : ",\n"}${JSON.stringify(item)}`);
  write(items.length === 0 ? "]\n" : "\n]\n");
}

/**
 * Writes a value as one JSON document. A list is written with one element per line, and any other value is indented.
 * This form is readable for people and works with `head`. A long list never becomes one string in memory.
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

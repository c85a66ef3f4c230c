/** `1 path`, `2,000 paths`. `many`: the plural, where an `s` does not make it. */
export function counted(count: number, noun: string, many = `${noun}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? noun : many}`;
}

/** A command as one could type it: words with anything but plain characters are in quotes. */
export function quoteCommand(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** A path as one could type it in a command: one that begins with a dash is not taken for an option. */
export function quotePath(path: string): string {
  return quoteCommand([path.startsWith("-") ? `./${path}` : path]);
}

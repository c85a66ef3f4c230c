/** Formats a command so that it can be typed. Words with anything but plain characters are quoted. */
export function quoteCommand(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/**
 * Formats a path so that it can be typed in a command. A path that begins with a dash gets `./`, so that it is not read
 * as an option.
 */
export function quotePath(path: string): string {
  return quoteCommand([path.startsWith("-") ? `./${path}` : path]);
}

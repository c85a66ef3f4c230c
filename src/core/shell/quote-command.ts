export function quoteCommand(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** A path that begins with a dash gets `./`, so that it is not read as an option. */
export function quotePath(path: string): string {
  return quoteCommand([path.startsWith("-") ? `./${path}` : path]);
}

/** Matches a word that needs no quotes in a POSIX shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;
/** Matches the same words as `PLAIN`, except words with `=`. A shell would read a first word `A=b` as an assignment. */
const PLAIN_COMMAND = /^[\w@%+:,./-]+$/;

/** Formats a command as a line of a POSIX shell. Quotes the words that need quotes. */
export function quoteCommand(argv: readonly string[]): string {
  return argv.map((word, i) => ((i === 0 ? PLAIN_COMMAND : PLAIN).test(word) ? word : quoted(word))).join(" ");
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Quotes a path. A path that begins with a dash gets the prefix `./`, so that it is not read as an option. */
export function quotePath(path: string): string {
  return quoteCommand([path.startsWith("-") ? `./${path}` : path]);
}

/** Matches the prefix of a path in a JSON answer: the mark of a further root, or `base64:`. */
const MARKED = /^(?:@[a-z0-9-]+|base64):/;

/**
 * Returns a path from a JSON answer as an argument of a `chronicle` command, quoted for a shell. The argument names the
 * same path in every current folder, because a path beneath the first root gets the prefix `:/`.
 */
export function argumentOfShown(path: string): string {
  return quotePath(MARKED.test(path) ? path : `:/${path}`);
}

/** Letters, digits and `. _ : @ -`; the first is a letter, a digit, `_` or `@`. */
const SHAPE = /^[A-Za-z0-9_@][A-Za-z0-9._:@-]{0,127}$/;

/**
 * True if the text can be a workspace's name: 1 to 128 characters that need no escaping in a URL, a file name or a
 * command line.
 */
export function isWorkspaceName(text: string): boolean {
  return SHAPE.test(text);
}

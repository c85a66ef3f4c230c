/** Letters, digits and `. _ : @ -`; the first is a letter, a digit, `_` or `@`. */
const SHAPE = /^[A-Za-z0-9_@][A-Za-z0-9._:@-]{0,127}$/;

/** Can a workspace be called so? 1 to 128 characters that stand in a URL, in a file's name and on a command line as they are. */
export function isWorkspaceName(text: string): boolean {
  return SHAPE.test(text);
}

/** Letters, digits and `. _ : @ -`; the first is a letter, a digit, `_` or `@`. */
const SHAPE = /^[A-Za-z0-9_@][A-Za-z0-9._:@-]{0,127}$/;

/** How an id (a UUID) is written. */
const ID_SHAPE = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

/**
 * Can a workspace be called so? 1 to 128 characters that stand in a URL, in a file's name and on a command line as they
 * are. What could be the beginning of an id (`3f2a`) is none; a whole UUID is one: sessions are often called so.
 */
export function isWorkspaceName(text: string): boolean {
  return SHAPE.test(text) && !isBeginningOfId(text);
}

function isBeginningOfId(text: string): boolean {
  if (text.length >= ID_SHAPE.length) return false;
  return [...text].every((char, i) => (ID_SHAPE[i] === "-" ? char === "-" : /[0-9a-f]/.test(char)));
}

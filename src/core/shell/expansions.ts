/** What a shell makes of `$'…'` and of `${…}`, as far as the line itself tells. */

const ESCAPE = /\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[^]|$)/g;
const LETTERS: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1B",
  E: "\x1B",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** The text that stands between `$'` and `'`; `undefined`: it holds bytes that are no ASCII, or an escape that is not known. */
export function ansiText(quoted: string): string | undefined {
  let isKnown = true;
  const text = quoted.replaceAll(ESCAPE, (_, escape: string) => {
    const one = /^["'?\\]$/.test(escape) ? escape : (LETTERS[escape] ?? characterOf(escape));
    isKnown &&= one !== undefined;
    return one ?? "";
  });
  return isKnown ? text : undefined;
}

/** `101`, `x41`, `u0041`, `U00000041`. */
function characterOf(escape: string): string | undefined {
  const isWide = /^[uU]/.test(escape);
  const code = /^[0-7]/.test(escape) ? Number.parseInt(escape, 8) : Number.parseInt(escape.slice(1), 16);
  const isKnown = code > 0 && code <= (isWide ? 0x10_ffff : 0x7f);
  return isKnown ? String.fromCodePoint(code) : undefined;
}

const PARAMETER = /^([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*])(?:(:?[-=?])[^]*|%%?([^*?[\]\\$`'"]*|\/\*))?$/;

/** What stands between `${` and `}`: the value of a variable that is known, without an ending where one is taken off. */
export function parameterValue(inner: string, valueOf: (name: string) => string | undefined): string | undefined {
  const [, name = "", operator, ending] = PARAMETER.exec(inner) ?? [];
  const value = name === "" ? undefined : valueOf(name);
  if (value === undefined) return undefined;
  // Another value stands in the place of an empty one.
  if (operator?.startsWith(":") === true && value === "") return undefined;
  if (ending === undefined) return value;
  if (ending === "/*") return value.includes("/") ? value.slice(0, value.lastIndexOf("/")) : value;
  return value.endsWith(ending) ? value.slice(0, value.length - ending.length) : value;
}

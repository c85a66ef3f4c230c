/** A word of a shell line. */
export interface ShellWord {
  /** The word without its quotes. */
  readonly text: string;
  /** False if a part of the word is known only to the shell that runs the line. */
  readonly known: boolean;
  /** The index in `text` of the first unquoted `*`, `?`, `[` or `{`; -1 if there is none. */
  readonly glob: number;
}

/** A step of a shell line. `(` and `)` begin and end a subshell. */
type ShellStep = ShellCommand | "(" | ")";

export interface ShellCommand {
  readonly words: readonly ShellWord[];
  /** The files to which the output of the command is redirected. */
  readonly outputs: readonly ShellWord[];
}

/** The maximum number of characters of a line that are read. The rest is ignored. */
export const MAX_SHELL_LINE = 65_536;

const BLANK = " \t\r";
const END_OF_WORD = " \t\r\n;&|()<>";
const GLOBS = "*?[{";
const NAME = /[A-Za-z0-9_]/;

/**
 * Splits a POSIX shell line into simple commands. Each command has its words, without quotes, and the targets of its
 * output redirections. `variables` has the variables with known values.
 *
 * The function runs nothing, and expands only variables with known values. A word is marked as unknown if a part of it
 * is another variable or `$(…)`. For a line that is cut off or badly quoted, returns the steps that were understood.
 * Reads the line in one pass, and never throws.
 */
export function parseShell(line: string, variables: Readonly<Record<string, string>> = {}): ShellStep[] {
  return readShell(line, variables).steps;
}

/**
 * Does the same as `parseShell`, and also returns, as `inner`, the lines within command substitutions (`$(…)` and
 * backquotes).
 */
export function readShell(
  line: string,
  variables: Readonly<Record<string, string>> = {},
): { readonly steps: ShellStep[]; readonly inner: readonly string[] } {
  const reader = new ShellReader(line.slice(0, MAX_SHELL_LINE), variables);
  return { steps: reader.read(), inner: reader.inner };
}

class ShellReader {
  readonly #line: string;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #steps: ShellStep[] = [];
  readonly #heredocs: { readonly end: string; readonly tabs: boolean }[] = [];
  readonly inner: string[] = [];
  #words: ShellWord[] = [];
  #outputs: ShellWord[] = [];
  #at = 0;
  #text = "";
  #known = true;
  #glob = -1;

  constructor(line: string, variables: Readonly<Record<string, string>>) {
    this.#line = line;
    this.#variables = variables;
  }

  read(): ShellStep[] {
    while (this.#at < this.#line.length) this.#next();
    this.#endCommand();
    return this.#steps;
  }

  #next(): void {
    const c = this.#line[this.#at] ?? "";
    if (BLANK.includes(c)) this.#at += 1;
    else if (this.#isContinued()) this.#at += 2;
    else if (c === "#") this.#skipTo("\n");
    else if (c === "\n") this.#newline();
    else if (c === "(" || c === ")") this.#paren(c);
    else if (c === ";" || c === "|") this.#separator();
    else if (c === "&" && this.#line[this.#at + 1] === ">") this.#output(1);
    else if (c === "&") this.#separator();
    else if (c === ">") this.#output(0);
    else if (c === "<") this.#input();
    else this.#wordOrDescriptor();
  }

  #separator(): void {
    this.#at += 1;
    this.#endCommand();
  }

  #paren(c: "(" | ")"): void {
    this.#separator();
    this.#steps.push(c);
  }

  #newline(): void {
    this.#separator();
    for (const { end, tabs } of this.#heredocs.splice(0)) {
      while (this.#at < this.#line.length) {
        const from = this.#at;
        this.#skipTo("\n");
        const row = this.#line.slice(from, this.#at);
        this.#at += 1;
        if ((tabs ? row.replace(/^\t+/, "") : row) === end) break;
      }
    }
  }

  #skipTo(c: string): void {
    const found = this.#line.indexOf(c, this.#at);
    this.#at = found < 0 ? this.#line.length : found;
  }

  #skipBlanks(): void {
    while (this.#at < this.#line.length) {
      if (BLANK.includes(this.#line[this.#at] ?? "")) this.#at += 1;
      else if (this.#isContinued()) this.#at += 2;
      else return;
    }
  }

  /** Returns true at a backslash before a newline. A shell drops both characters, so they do not begin a word. */
  #isContinued(): boolean {
    return this.#line.startsWith("\\\n", this.#at);
  }

  /** Reads `>`, `>>`, `>|`, `>&`, `&>`, `&>>`, `<>`. `before` is the number of characters to skip before the `>`. */
  #output(before: number): void {
    this.#at += before + 1;
    const c = this.#line[this.#at] ?? "";
    if (c === "(") return;
    if (c === ">" || c === "|" || c === "&") this.#at += 1;
    this.#skipBlanks();
    const word = this.#word();
    if (c === "&" && (/^\d*-?$/.test(word.text) || !word.known)) return;
    if (word.text !== "" || !word.known) this.#outputs.push(word);
  }

  /** Reads `<`, `<<`, `<<-`, `<<<`, `<&`, `<>`, `<(`. */
  #input(): void {
    this.#at += 1;
    const c = this.#line[this.#at] ?? "";
    if (c === "(") return;
    if (c === ">") return this.#output(0);
    if (c === "<" && this.#line[this.#at + 1] !== "<") {
      const tabs = this.#line[this.#at + 1] === "-";
      this.#at += tabs ? 2 : 1;
      this.#skipBlanks();
      const end = this.#word().text;
      if (end !== "") this.#heredocs.push({ end, tabs });
      return;
    }
    while ("<&".includes(this.#line[this.#at] || " ")) this.#at += 1;
    this.#skipBlanks();
    this.#word();
  }

  #wordOrDescriptor(): void {
    const from = this.#at;
    const word = this.#word();
    const next = this.#line[this.#at];
    // In `2>file`, a number directly before the operator is a file descriptor.
    if ((next === ">" || next === "<") && /^\d+$/.test(this.#line.slice(from, this.#at))) return;
    this.#words.push(word);
  }

  #endCommand(): void {
    if (this.#words.length === 0 && this.#outputs.length === 0) return;
    this.#steps.push({ words: this.#words, outputs: this.#outputs });
    this.#words = [];
    this.#outputs = [];
  }

  #word(): ShellWord {
    this.#text = "";
    this.#known = true;
    this.#glob = -1;
    if (this.#line[this.#at] === "~") this.#tilde();
    while (this.#at < this.#line.length && !END_OF_WORD.includes(this.#line[this.#at] ?? "")) this.#piece();
    return { text: this.#text, known: this.#known, glob: this.#glob };
  }

  #tilde(): void {
    const after = this.#line[this.#at + 1] ?? " ";
    this.#at += 1;
    const home = this.#variables["HOME"];
    if (home === undefined || !(after === "/" || END_OF_WORD.includes(after))) this.#known = false;
    else this.#text += home;
  }

  #piece(): void {
    const c = this.#line[this.#at] ?? "";
    this.#at += 1;
    if (c === "\\") this.#escaped();
    else if (c === "'") this.#text += this.#quoted();
    else if (c === '"') this.#doubleQuoted();
    else if (c === "$") this.#dollar();
    else if (c === "`") this.#backquoted();
    else {
      if (this.#glob < 0 && GLOBS.includes(c)) this.#markGlob(c);
      this.#text += c;
    }
  }

  /** Marks a wildcard. `{}` and a `{` that groups commands are not wildcards. */
  #markGlob(c: string): void {
    const next = this.#line[this.#at] ?? " ";
    if (c === "{" && (next === "}" || END_OF_WORD.includes(next))) return;
    this.#glob = this.#text.length;
  }

  #escaped(): void {
    const c = this.#line[this.#at] ?? "";
    this.#at += 1;
    if (c !== "\n") this.#text += c;
  }

  #quoted(): string {
    const from = this.#at;
    this.#skipTo("'");
    if (this.#at === this.#line.length) this.#known = false;
    this.#at += 1;
    return this.#line.slice(from, this.#at - 1);
  }

  #doubleQuoted(): void {
    while (this.#at < this.#line.length) {
      const c = this.#line[this.#at] ?? "";
      this.#at += 1;
      if (c === '"') return;
      if (c === "\\" && '$`"\\\n'.includes(this.#line[this.#at] || " ")) this.#escaped();
      else if (c === "$") this.#dollar();
      else if (c === "`") this.#backquoted();
      else this.#text += c;
    }
    this.#known = false;
  }

  #backquoted(): void {
    this.#known = false;
    const from = this.#at;
    while (this.#at < this.#line.length && this.#line[this.#at] !== "`") {
      this.#at += this.#line[this.#at] === "\\" ? 2 : 1;
    }
    this.inner.push(this.#line.slice(from, this.#at));
    this.#at += 1;
  }

  #dollar(): void {
    const c = this.#line[this.#at] ?? "";
    if (c === "(" || c === "{") return this.#skipNested(c, c === "(" ? ")" : "}");
    if (c === "'") {
      this.#ansiQuoted();
      return;
    }
    const from = this.#at;
    // `$10` is `$1`, followed by a `0`.
    if (/[0-9]/.test(c)) this.#at += 1;
    else while (NAME.test(this.#line[this.#at] || " ")) this.#at += 1;
    if (this.#at === from && "@*#?$!-".includes(c || " ")) this.#at += 1;
    if (this.#at === from) this.#text += "$";
    else this.#substitute(this.#line.slice(from, this.#at));
  }

  /** Reads `$'…'`, from the opening quote on. */
  #ansiQuoted(): void {
    const from = this.#at + 1;
    this.#at = from;
    while (this.#at < this.#line.length && this.#line[this.#at] !== "'") {
      this.#at += this.#line[this.#at] === "\\" ? 2 : 1;
    }
    const text = this.#at < this.#line.length ? ansiText(this.#line.slice(from, this.#at)) : undefined;
    if (text === undefined) this.#known = false;
    else this.#text += text;
    this.#at += 1;
  }

  #valueOf(name: string): string | undefined {
    return Object.hasOwn(this.#variables, name) ? this.#variables[name] : undefined;
  }

  #substitute(name: string): void {
    const value = this.#valueOf(name);
    if (value === undefined) this.#known = false;
    else this.#text += value;
  }

  /** Reads `$(…)` or `${…}` up to the matching bracket. */
  #skipNested(open: string, close: string): void {
    const from = this.#at + 1;
    let depth = 0;
    while (this.#at < this.#line.length) {
      const c = this.#line[this.#at] ?? "";
      this.#at += c === "\\" ? 2 : 1;
      if (c === "'" && open === "(") this.#skipTo("'");
      if (c === "'" && open === "(") this.#at += 1;
      if (c === open) depth += 1;
      if (c === close) depth -= 1;
      if (depth === 0) break;
    }
    const inner = this.#line.slice(from, this.#at - 1);
    const value = open === "{" ? parameterValue(inner, (name) => this.#valueOf(name)) : undefined;
    if (value === undefined) this.#known = false;
    else this.#text += value;
    if (open === "(") this.inner.push(inner);
  }
}

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

/**
 * Returns the text that a `$'…'` stands for; `undefined` if an escape is unknown, or stands for NUL or for a byte
 * beyond ASCII.
 */
function ansiText(quoted: string): string | undefined {
  let isKnown = true;
  const text = quoted.replaceAll(ESCAPE, (_, escape: string) => {
    const one = /^["'?\\]$/.test(escape) ? escape : (LETTERS[escape] ?? characterOf(escape));
    isKnown &&= one !== undefined;
    return one ?? "";
  });
  return isKnown ? text : undefined;
}

function characterOf(escape: string): string | undefined {
  const isWide = /^[uU]/.test(escape);
  const code = /^[0-7]/.test(escape) ? Number.parseInt(escape, 8) : Number.parseInt(escape.slice(1), 16);
  const isKnown = code > 0 && code <= (isWide ? 0x10_ffff : 0x7f);
  return isKnown ? String.fromCodePoint(code) : undefined;
}

const PARAMETER = /^([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*])(?:(:?[-=?])[^]*|(%%?)([^*?[\]\\$`'"]*|\/\*))?$/;

/**
 * Returns the value of `${inner}`; `undefined` if the value cannot be known. Removes the ending that `%` or `%%` names.
 * With the pattern `/*`, `%` removes the part from the last slash on, and `%%` the part from the first slash on.
 */
function parameterValue(inner: string, valueOf: (name: string) => string | undefined): string | undefined {
  const [, name = "", operator, removal, ending] = PARAMETER.exec(inner) ?? [];
  const value = name === "" ? undefined : valueOf(name);
  if (value === undefined) return undefined;
  // With `:-` and similar operators, an empty value is replaced by another value, which is not evaluated here.
  if (operator?.startsWith(":") === true && value === "") return undefined;
  if (ending === undefined) return value;
  if (ending === "/*") {
    const slash = removal === "%%" ? value.indexOf("/") : value.lastIndexOf("/");
    return slash === -1 ? value : value.slice(0, slash);
  }
  return value.endsWith(ending) ? value.slice(0, value.length - ending.length) : value;
}
